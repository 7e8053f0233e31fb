// SPDX-License-Identifier: MIT
// The emulated GPU under control, and a small network that trains on it and on
// the CPU from the same parameters.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <thread>

#include "emulator/control.h"
#include "support/training.h"

namespace traingraph::testing {

class GpuTest : public ::testing::Test {
 protected:
  /// Looking for a GPU computes something: not while failures are armed.
  GpuTest() { Device::gpu(); }
  ~GpuTest() override {
    Device::gpu().synchronize();
    emulator::wait_until_idle();
    emulator::reset_faults();
  }
};

/// x -> first -> norm -> relu -> drop -> second -> softmax cross-entropy.
class SmallNet {
 public:
  explicit SmallNet(Device device, CompileOptions options = {},
                    OptimizerPtr optimizer = sgd(0.1f, 0.9f))
      : device_(std::move(device)), options_(options) {
    Tensor h = add<layers::FullyConnected>("first", x_, tensor({16, 6}, 1),
                                           tensor({16}, 2));
    norm_ = std::make_shared<layers::BatchNormalization>(16);
    norm_->set_name("norm");
    h = graph_.node(norm_, h);
    h = add<layers::ReLU>("relu", h);
    h = add<layers::Dropout>("drop", h, 0.25f, 7);
    y_ = add<layers::FullyConnected>("second", h, tensor({4, 16}, 3),
                                     tensor({4}, 4));
    t.emplace(std::vector{graph_},
              std::make_shared<losses::SoftmaxCrossEntropy>(),
              std::move(optimizer));
    t->add_inputs({{"x", x_}}, {{"label", label_}});
    t->add_outputs({{"y", y_}});
  }
  SmallNet(const SmallNet&) = delete;

  void compile() { t->compile(device_, options_); }
  Execution step(const ExecuteOptions& options = {}) {
    return t->execute(inputs_, labels_, {}, options);
  }
  Execution forward() { return t->execute_forward(inputs_, labels_); }
  void phases() {
    forward();
    t->execute_gradient();
    t->execute_optimizer_update().wait();
  }
  Floats infer() {
    const ExecuteOptions options{.forward_for_inference = true};
    return floats_of(t->execute(inputs_, {}, {}, options).result().output("y"));
  }

  /// Reads the parameters on the device, one after the other.
  Floats parameters() const { return read_all(t->parameters()); }
  Floats statistics() const {
    return read_all({norm_->mean(), norm_->variance()});
  }

  std::optional<TrainingGraph> t;

 private:
  static Tensor tensor(Shape shape, unsigned seed) {
    const Floats values = random_floats(shape.num_elements(), seed);
    return Tensor({shape}, view(values));
  }
  static Floats read_all(const std::vector<Tensor>& tensors) {
    Floats all;
    for (const Tensor& tensor : tensors) {
      const Floats values = read(tensor);
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }
  template <class Layer, class... Arguments>
  Tensor add(const char* label, const Tensor& source, Arguments... arguments) {
    auto layer = std::make_shared<Layer>(arguments...);
    layer->set_name(label);
    return graph_.node(layer, source);
  }

  Device device_;
  CompileOptions options_;
  Tensor x_{{{8, 6}}, "x"}, label_{{{8, 4}}, "label"}, y_;
  Graph graph_;
  std::shared_ptr<layers::BatchNormalization> norm_;
  const Floats x_data_ = random_floats(48, 5), label_data_ = one_hot(8, 4);
  const std::vector<NamedData> inputs_{{"x", view(x_data_)}};
  const std::vector<NamedData> labels_{{"label", view(label_data_)}};
};

/// The same network on both devices.
struct Twins {
  using MakeOptimizer = std::function<OptimizerPtr()>;

  explicit Twins(
      const CompileOptions& options = {}, const Device& device = Device::gpu(),
      const MakeOptimizer& optimizer = [] { return sgd(0.1f, 0.9f); })
      : gpu(device, options, optimizer()), cpu(Device::cpu(), {}, optimizer()) {
    gpu.compile();
    cpu.compile();
  }
  /// float32 sums in another order; a few steps.
  void expect_equal() { expect_near(gpu.parameters(), cpu.parameters(), 1e-5); }
  /// Makes the next masks the same again after failures.
  void align() { gpu.t->set_random_step(cpu.t->random_step()); }

  SmallNet gpu, cpu;
};

/// Executables and kernels that were encoded.
struct Encoded {
  long executables = emulator::counters().encodes;
  long kernels = emulator::counters().dispatches;
};

/// Are so many more encoded than `before`? Waits for it, not long.
inline bool are_encoded(const Encoded& before, long executables, long kernels) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::seconds(10);
  const auto are_there = [&] {
    const Encoded now;
    return now.executables >= before.executables + executables &&
           now.kernels >= before.kernels + kernels;
  };
  while (!are_there() && Clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return are_there();
}

/// An error names a range of layers of SmallNet, or what is alone in a unit.
inline void expect_names_layers(const Error& error) {
  const std::string& node = error.node();
  bool is_named = false;
  for (const char* layer : {"first", "norm", "relu", "drop", "second",
                            "softmax_cross_entropy", "seed", "data"}) {
    is_named = is_named || node.starts_with(layer);
  }
  EXPECT_TRUE(is_named) << error.what();
}

}  // namespace traingraph::testing
