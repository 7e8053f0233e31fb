// SPDX-License-Identifier: MIT
// Networks of many small parameters, for tests of the updates, and the GPU
// without kernels for these.
#pragma once

#include "metal/gpu_test.h"
#include "metal/metal_backend.h"
#include "runtime/wrapped_device.h"

namespace traingraph::testing {

/// Fully connected layers of random widths, with tanh between them.
class Stack {
 public:
  Stack(Device device, OptimizerPtr optimizer, int num_layers,
        const CompileOptions& options = {}, unsigned seed = 1)
      : device_(std::move(device)),
        options_(options),
        optimizer(std::move(optimizer)) {
    std::mt19937 engine(seed);
    std::uniform_int_distribution<std::int64_t> width(1, 13);
    std::int64_t in = kInputs;
    Tensor h = x_;
    for (int i = 0; i < num_layers; ++i) {
      const bool is_last = i + 1 == num_layers;
      const std::int64_t out = is_last ? kOutputs : width(engine);
      const Tensor w = tensor({out, in}, 3 * i + 1), b = tensor({out}, 3 * i);
      h = graph_.node(std::make_shared<layers::FullyConnected>(w, b), h);
      tensors.insert(tensors.end(), {w, b});
      if (!is_last) h = graph_.node(std::make_shared<layers::Tanh>(), h);
      in = out;
    }
    t.emplace(std::vector{graph_}, std::make_shared<losses::MeanSquaredError>(),
              this->optimizer);
    t->add_inputs({{"x", x_}}, {{"label", label_}});
  }
  Stack(const Stack&) = delete;

  void compile() { t->compile(device_, options_); }
  /// For calls that are given no data.
  void bind() {
    std::vector<NamedData> all = inputs_;
    all.insert(all.end(), labels_.begin(), labels_.end());
    t->bind_and_write_data(all);
  }
  Execution step() { return t->execute(inputs_, labels_); }
  void pass(GradientAccumulation accumulate = GradientAccumulation::None) {
    t->execute_forward(inputs_, labels_);
    t->execute_gradient({.accumulate = accumulate});
  }
  Execution phases() {
    pass();
    return t->execute_optimizer_update();
  }
  Floats parameters() const {
    Floats all;
    for (const Tensor& tensor : t->parameters()) {
      const Floats values = read(tensor);
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }
  std::size_t num_parameters() const { return parameters().size(); }

 private:
  static constexpr std::int64_t kInputs = 6, kOutputs = 3, kBatch = 4;
  static Tensor tensor(Shape shape, unsigned seed) {
    const Floats values = random_floats(shape.num_elements(), seed);
    return Tensor({shape}, view(values));
  }

  Device device_;
  CompileOptions options_;
  Tensor x_{{{kBatch, kInputs}}, "x"}, label_{{{kBatch, kOutputs}}, "label"};
  Graph graph_;
  const Floats x_data_ = random_floats(kBatch * kInputs, 1001),
               label_data_ = random_floats(kBatch * kOutputs, 1002);
  const std::vector<NamedData> inputs_{{"x", view(x_data_)}};
  const std::vector<NamedData> labels_{{"label", view(label_data_)}};

 public:
  const OptimizerPtr optimizer;
  std::vector<Tensor> tensors;  // weights and biases of each layer
  std::optional<TrainingGraph> t;
};

class UpdateTest : public GpuTest {
 protected:
  ~UpdateTest() override { composed.context()->drain(); }

  /// The GPU whose updates are operations of MPSGraph.
  const Device composed{metal::make_context(
      [](metal::GpuLimits& limits) { limits.uses_update_kernels = false; })};
};

}  // namespace traingraph::testing
