// SPDX-License-Identifier: MIT
// A GPU that computes wrongly is found out by the CPU, and no other is.
#include <gtest/gtest.h>

#include <functional>

#include "metal/gpu_test.h"

namespace traingraph::testing {
namespace {

class VerifyGpu : public GpuTest {
 protected:
  VerifyGpu() : net(Device::gpu(), {.verify = Device::cpu()}) { net.compile(); }

  /// Makes the results of the n-th run of `op` too large.
  static void corrupt(const char* op, int n, double factor = 1.01) {
    auto runs = std::make_shared<int>(0);
    emulator::corrupt_operation(
        op, [runs, n, factor](std::vector<std::vector<double>>& results) {
          if (++*runs != n) return;
          for (double& value : results[0]) value *= factor;
        });
  }

  SmallNet net;
};

TEST_F(VerifyGpu, ASoundDeviceTrains) {
  net.step().wait();
  net.phases();
  net.infer();
}

TEST_F(VerifyGpu, AWrongForwardTensorIsNamed) {
  corrupt("matrixMultiplication", 1);
  const ErrorInfo error = error_of<DeviceError>([&] { net.step().wait(); });
  EXPECT_EQ(error.op, "verify");
  EXPECT_EQ(error.node, "first");
  EXPECT_NE(error.what.find("forward tensor"), std::string::npos) << error.what;
  EXPECT_NE(error.got, error.expected);
}

TEST_F(VerifyGpu, AWrongGradientIsNamed) {
  net.forward().wait();
  corrupt("matrixMultiplication", 1);
  const ErrorInfo error =
      error_of<DeviceError>([&] { net.t->execute_gradient().wait(); });
  EXPECT_EQ(error.node, "second");
  EXPECT_NE(error.what.find("gradient tensor"), std::string::npos)
      << error.what;
}

TEST_F(VerifyGpu, TheNextExecutionIsCheckedAfresh) {
  corrupt("matrixMultiplication", 1);
  EXPECT_THROW(net.step().wait(), DeviceError);
  emulator::reset_faults();
  net.step().wait();
}

/// A network of `shape` to (batch, classes) that the CPU watches.
class VerifyNet {
 public:
  using Body = std::function<Tensor(Graph&, const Tensor&)>;
  static constexpr std::int64_t kClasses = 4;

  VerifyNet(const Shape& shape, const Body& body, OptimizerPtr optimizer,
            CompileOptions options = {})
      : x_({shape}, "x"),
        label_({{shape[0], kClasses}}, "label"),
        x_data_(random_floats(shape.num_elements(), 5)),
        label_data_(one_hot(shape[0], kClasses)) {
    Platform::set_rng_seed(7);
    Graph graph;
    body(graph, x_);
    t_.emplace(std::vector{graph},
               std::make_shared<losses::SoftmaxCrossEntropy>(),
               std::move(optimizer));
    t_->add_inputs({{"x", x_}}, {{"label", label_}});
    options.verify = Device::cpu();
    t_->compile(Device::gpu(), options);
  }
  VerifyNet(const VerifyNet&) = delete;

  void step() { t_->execute(inputs_, labels_).wait(); }
  void phases(GradientAccumulation accumulate = GradientAccumulation::None) {
    const bool adds = accumulate != GradientAccumulation::None;
    for (int pass = 0; pass < (adds ? 2 : 1); ++pass) {
      t_->execute_forward(inputs_, labels_);
      t_->execute_gradient({.accumulate = accumulate});
    }
    t_->execute_optimizer_update().wait();
  }
  void infer() {
    t_->execute(inputs_, {}, {}, {.forward_for_inference = true}).wait();
  }
  /// Every kind of run, several times.
  void run() {
    for (int i = 0; i < 4; ++i) {
      step();
      phases();
      infer();
    }
  }

 private:
  Tensor x_, label_;
  const Floats x_data_, label_data_;
  const std::vector<NamedData> inputs_{{"x", view(x_data_)}};
  const std::vector<NamedData> labels_{{"label", view(label_data_)}};
  std::optional<TrainingGraph> t_;
};

template <class Layer, class... Arguments>
Tensor add(Graph& graph, const std::vector<Tensor>& sources,
           Arguments... arguments) {
  return graph.node(std::make_shared<Layer>(arguments...), sources);
}

Tensor flatten_and_classify(Graph& graph, const Tensor& x) {
  const std::int64_t size = x.shape().num_elements() / x.shape()[0];
  const Tensor flat = graph.reshape({x.shape()[0], size}, x);
  return add<layers::FullyConnected>(graph, {flat}, size, VerifyNet::kClasses);
}

// The CPU has a view where the GPU has a tensor that it computes.
TEST_F(VerifyGpu, InputsMayBeReshaped) {
  VerifyNet({8, 2, 3}, flatten_and_classify, sgd(0.1f)).run();
}

TEST_F(VerifyGpu, InputsOfHigherRankMayBeProjected) {
  const auto body = [](Graph& graph, const Tensor& x) {
    return flatten_and_classify(graph,
                                add<layers::FullyConnected>(graph, {x}, 3, 5));
  };
  VerifyNet({8, 2, 3}, body, sgd(0.1f)).run();
}

TEST_F(VerifyGpu, AWrongReshapeOfAnInputIsNamed) {
  corrupt("reshape", 1);
  VerifyNet net({8, 2, 3}, flatten_and_classify, sgd(0.1f));
  const ErrorInfo error = error_of<DeviceError>([&] { net.step(); });
  EXPECT_EQ(error.node, "reshape");
  EXPECT_NE(error.what.find("forward tensor"), std::string::npos) << error.what;
}

/// Two gradients that are 0 in theory and rounding noise in practice: those of
/// the keys' bias, which softmax drops, and of a bias before batch
/// normalization. Adam steps by their signs.
Tensor attend_and_normalize(Graph& graph, const Tensor& x) {
  const auto attention = std::make_shared<layers::MultiheadAttention>(
      MultiheadAttentionDescriptor{.model_dimension = 6, .head_count = 2});
  const Tensor h = graph.node(attention, {x, x, x});
  const std::int64_t size = h.shape()[1] * h.shape()[2];
  Tensor flat = graph.reshape({h.shape()[0], size}, h);
  flat = add<layers::FullyConnected>(graph, {flat}, size, 12);
  flat = add<layers::BatchNormalization>(graph, {flat}, 12);
  return add<layers::FullyConnected>(graph, {flat}, 12, VerifyNet::kClasses);
}

TEST_F(VerifyGpu, AdamMayStepByNoise) {
  VerifyNet({8, 5, 6}, attend_and_normalize,
            std::make_shared<optimizers::Adam>(0.01f))
      .run();
}

TEST_F(VerifyGpu, AdamMayStepByAccumulatedNoise) {
  VerifyNet net({8, 5, 6}, attend_and_normalize,
                std::make_shared<optimizers::Adam>(0.01f),
                {.accumulate_gradients = true});
  for (int i = 0; i < 3; ++i) net.phases(GradientAccumulation::Sum);
  // Steps of a graph that may be linked add up in accumulators, too.
  VerifyNet linkable({8, 5, 6}, attend_and_normalize,
                     std::make_shared<optimizers::Adam>(0.01f),
                     {.link_graphs = true});
  linkable.run();
}

TEST_F(VerifyGpu, FloatsOf16BitsAreComparedAsWell) {
  for (const Precision precision :
       {Precision::MixedFloat16, Precision::MixedBFloat16}) {
    VerifyNet net({8, 5, 6}, attend_and_normalize,
                  std::make_shared<optimizers::Adam>(0.01f),
                  {.precision = precision});
    net.run();
    corrupt("matrixMultiplication", 1, 1.25);
    const ErrorInfo error = error_of<DeviceError>([&] { net.step(); });
    EXPECT_NE(error.what.find("forward tensor"), std::string::npos)
        << error.what;
    emulator::reset_faults();
  }
}

}  // namespace
}  // namespace traingraph::testing
