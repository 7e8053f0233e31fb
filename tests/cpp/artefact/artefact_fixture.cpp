// SPDX-License-Identifier: MIT
#include "artefact/artefact_fixture.h"

#include <list>

namespace traingraph::testing {

std::vector<Floats> state_of(const TrainingGraph& graph) {
  std::vector<Floats> result;
  std::vector<NamedData> into;
  const auto tensors = graph.state_tensors(/*with_optimizer=*/true);
  for (const auto& [name, desc] : tensors) {
    result.emplace_back(desc.shape.num_elements());
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    into.push_back({tensors[i].name, view(result[i])});
  }
  graph.read_state_dict(into);
  return result;
}

namespace {

constexpr int kClasses = 3;

const char* const kInputs[] = {"x", "x2", "i"};
const char* const kLabels[] = {"label", "label2", "class"};

std::vector<std::byte> values_of(const TensorDescriptor& desc, unsigned seed) {
  std::vector<std::byte> bytes(desc.size_bytes());
  const auto count = static_cast<std::size_t>(desc.shape.num_elements());
  // Values are the same with every standard library, as files are kept.
  std::mt19937 random(seed);
  const bool is_float = desc.data_type == DataType::Float32;
  for (std::size_t i = 0; i < count; ++i) {
    const float number = static_cast<float>(random() % 2001) / 1000 - 1;
    const auto index = static_cast<std::int32_t>(random() % kClasses);
    std::memcpy(bytes.data() + 4 * i,
                is_float ? static_cast<const void*>(&number) : &index, 4);
  }
  return bytes;
}

class Data {
 public:
  void add(const Tensor& tensor, const char* name, std::int64_t batch,
           unsigned seed, std::vector<NamedData>& into) {
    TensorDescriptor desc = tensor.descriptor();
    if (batch != 0) {
      desc.shape[0] = desc.shape[0] / kSamples * batch;
    }
    bytes_.push_back(values_of(desc, seed));
    into.push_back({name, TensorData(std::as_const(bytes_.back()).data(),
                                     bytes_.back().size())});
  }
  std::vector<NamedData> inputs, labels, gradients;

 private:
  std::list<std::vector<std::byte>> bytes_;
};

/// Returns an empty tensor when the graph has none of that name.
Tensor find(const TrainingGraph& graph, const char* name) {
  try {
    return graph.tensor(name);
  } catch (const InvalidArgument&) {
    return {};
  }
}

void append(std::vector<Floats>& into, const ExecutionResult& result) {
  for (const OutputView& view : result.outputs()) {
    into.push_back(floats_of(view));
  }
  if (result.has_loss()) into.push_back({result.loss()});
}

}  // namespace

std::vector<Floats> run_steps(TrainingGraph& graph, const TensorMap& gradients,
                              int from, int to) {
  std::vector<Floats> results;
  for (int step = from; step < to; ++step) {
    const std::int64_t batch = step % 4 == 3 ? 4 : 0;
    const auto seed = static_cast<unsigned>(100 * step);
    Data data;
    for (unsigned i = 0; i < std::size(kInputs); ++i) {
      const Tensor tensor = find(graph, kInputs[i]);
      if (tensor) data.add(tensor, kInputs[i], batch, seed + i, data.inputs);
    }
    for (unsigned i = 0; i < std::size(kLabels); ++i) {
      const Tensor tensor = find(graph, kLabels[i]);
      if (tensor) {
        data.add(tensor, kLabels[i], batch, seed + 9 + i, data.labels);
      }
    }
    const ExecuteOptions options{.batch_size = batch};
    if (!gradients.empty()) {
      for (const auto& [name, tensor] : gradients) {
        data.add(tensor, name.c_str(), batch, seed + 20, data.gradients);
      }
      graph.bind_and_write_data(data.gradients, gradients, batch);
    }
    if (step % 3 != 1) {
      append(results,
             graph.execute(data.inputs, data.labels, {}, options).result());
      continue;
    }
    append(
        results,
        graph.execute_forward(data.inputs, data.labels, {}, options).result());
    graph.execute_gradient();
    for (const Tensor& parameter : graph.parameters()) {
      results.push_back(graph.gradient_data(parameter));
    }
    graph.execute_optimizer_update().wait();
  }
  return results;
}

}  // namespace traingraph::testing
