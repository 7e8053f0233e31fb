// SPDX-License-Identifier: MIT
// Closures over the C interface, as a binding for Rust, Swift or another
// language has them: a closure travels as void*, and one function, the
// trampoline, turns it back, calls it and lets it go.
//
//   c_callbacks <file of a training graph>
#include <traingraph/c.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace {

using Closure = std::function<void(tg_status, const char*)>;

void trampoline(void* context, tg_status status, const char* text) {
  const std::unique_ptr<Closure> closure(static_cast<Closure*>(context));
  (*closure)(status, text);
}

void require(tg_status status, const char* what) {
  if (status == TG_OK) return;
  std::fprintf(stderr, "%s: %s\n", what, tg_error_text());
  std::exit(1);
}

/// Zeros for every declared tensor of a kind.
struct Zeros {
  Zeros(tg_graph* graph, tg_kind kind) {
    std::size_t count = 0;
    require(tg_count_tensors(graph, kind, &count), "tg_count_tensors");
    for (std::size_t i = 0; i < count; ++i) {
      tg_tensor tensor{};
      tensor.size = sizeof(tensor);
      require(tg_tensor_at(graph, kind, i, &tensor), "tg_tensor_at");
      memory.emplace_back(tensor.bytes);
      tg_data item{};
      item.name = tensor.name;
      item.data = memory.back().data();
      item.bytes = tensor.bytes;
      data.push_back(item);
    }
  }
  std::vector<std::vector<std::byte>> memory;
  std::vector<tg_data> data;
};

/// `closure` is called once, whatever happens.
void step(tg_graph* graph, const Zeros& inputs, const Zeros& labels,
          Closure closure) {
  auto owned = std::make_unique<Closure>(std::move(closure));
  tg_run run{};
  run.size = sizeof(run);
  run.inputs = inputs.data.data();
  run.num_inputs = inputs.data.size();
  run.labels = labels.data.data();
  run.num_labels = labels.data.size();
  run.completion_handler = trampoline;
  run.context = owned.get();
  const tg_status status = tg_execute(graph, &run, nullptr);
  if (status == TG_OK) {
    owned.release();  // the trampoline has it
  } else {
    (*owned)(status, tg_error_text());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  tg_graph* graph = nullptr;
  require(tg_load_training(argv[1], nullptr, &graph), "tg_load_training");
  const Zeros inputs(graph, TG_INPUT), labels(graph, TG_LABEL);
  std::mutex mutex;
  std::condition_variable changed;
  int over = 0, failed = 0;
  constexpr int kSteps = 10;
  for (int i = 0; i < kSteps; ++i) {
    step(graph, inputs, labels, [&](tg_status status, const char* text) {
      if (status != TG_OK) std::fprintf(stderr, "%s\n", text);
      const std::scoped_lock lock(mutex);
      ++over;
      failed += status == TG_OK ? 0 : 1;
      changed.notify_one();
    });
  }
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return over == kSteps; });
  std::printf("%d steps, %d failed\n", over, failed);
  require(tg_release_graph(graph), "tg_release_graph");
  return failed == 0 ? 0 : 1;
}
