// SPDX-License-Identifier: MIT
#include "runtime/execution/batches.h"

#include <algorithm>

#include "traingraph/error.h"

namespace traingraph {
namespace {

constexpr std::size_t kMaxSpecializations = 8;

}  // namespace

void require_compiled(const Batches* batches, const char* call) {
  if (batches) return;
  throw StateError(ErrorInfo{.op = call,
                             .what = "the graph is not compiled",
                             .hint = "Call compile() first."});
}

Batches::Batches(std::shared_ptr<const MergedGraph> graph,
                 std::shared_ptr<DeviceContext> context,
                 const CompilerOptions& options)
    : graph_(std::move(graph)),
      context_(std::move(context)),
      options_(options) {
  if (options_.exchanges() && graph_->trains) {
    options_.exchange_order =
        find_exchange_order(*graph_, context_->target(), graph_->batch);
  }
  all_.push_back(compile(graph_->batch));
}

std::shared_ptr<Specialization> Batches::compile(std::int64_t batch) const {
  auto specialization = std::make_shared<Specialization>();
  specialization->compilation =
      compile_graph(graph_, context_->target(), options_, batch);
  return specialization;
}

std::shared_ptr<Specialization> Batches::find(std::int64_t batch) {
  for (const auto& specialization : all_) {
    if (specialization->compilation.batch != batch) continue;
    specialization->last_use = ++uses_;
    return specialization;
  }
  return nullptr;
}

std::shared_ptr<Specialization> Batches::add(std::int64_t batch) {
  auto specialization = compile(batch);
  specialization->last_use = ++uses_;
  if (all_.size() >= kMaxSpecializations) {
    all_.erase(std::min_element(all_.begin() + 1, all_.end(),
                                [](const auto& a, const auto& b) {
                                  return a->last_use < b->last_use;
                                }));
  }
  all_.push_back(specialization);
  return specialization;
}

void Batches::forget_bindings() {
  for (const auto& specialization : all_) {
    for (auto& segment : specialization->segments) segment.reset();
  }
}

}  // namespace traingraph
