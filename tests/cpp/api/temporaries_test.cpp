// SPDX-License-Identifier: MIT
// What a temporary hands out outlives it, or does not compile.
#include <gtest/gtest.h>

#include <concepts>
#include <type_traits>
#include <utility>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

template <class T>
constexpr bool is_value = !std::is_reference_v<T> && !std::is_pointer_v<T>;

// Spans of host memory: only of a tensor that has a name.
template <class T>
concept HandsOutBytes =
    requires(T&& tensor) { std::forward<T>(tensor).data(); };
template <class T>
concept HandsOutFloats =
    requires(T&& tensor) { std::forward<T>(tensor).floats(); };
static_assert(HandsOutBytes<const Tensor&> && HandsOutFloats<Tensor&>);
static_assert(!HandsOutBytes<Tensor> && !HandsOutBytes<const Tensor>);
static_assert(!HandsOutFloats<Tensor> && !HandsOutFloats<const Tensor>);
// They may only be read.
static_assert(std::same_as<decltype(std::declval<Tensor&>().floats()),
                           std::span<const float>>);
static_assert(std::same_as<decltype(std::declval<Tensor&>().data()),
                           std::span<const std::byte>>);
static_assert(
    std::same_as<decltype(OptimizerData::data), std::span<const std::byte>>);

template <class T>
concept HandsOutSizes = requires(T&& shape) { std::forward<T>(shape).begin(); };
static_assert(HandsOutSizes<const Shape&> && !HandsOutSizes<Shape>);
static_assert(is_value<decltype(std::declval<Shape>()[0])>);

template <class T>
concept HandsOutGradients = requires(T&& graph, Tensor parameter) {
  std::forward<T>(graph).gradients();
  std::forward<T>(graph).gradient(parameter);
};
static_assert(HandsOutGradients<TrainingGraph&>);
static_assert(!HandsOutGradients<TrainingGraph>);

// References into the object: values of a temporary.
#define EXPECT_VALUE(Class, call) \
  static_assert(is_value<decltype(std::declval<Class>().call)>)
EXPECT_VALUE(Tensor, descriptor());
EXPECT_VALUE(Tensor, shape());
EXPECT_VALUE(Tensor, state());
EXPECT_VALUE(TensorParameter, tensor());
EXPECT_VALUE(TensorParameter, tensor_or_none());
EXPECT_VALUE(Graph, state());
EXPECT_VALUE(Device, context());
EXPECT_VALUE(Error, info());
EXPECT_VALUE(Error, op());
EXPECT_VALUE(Error, node());
EXPECT_VALUE(Error, expected());
EXPECT_VALUE(Error, got());
EXPECT_VALUE(layers::ReLU, name());
EXPECT_VALUE(layers::ReLU, descriptor());
EXPECT_VALUE(layers::FullyConnected, weights());
EXPECT_VALUE(layers::FullyConnected, biases());
EXPECT_VALUE(layers::FullyConnected, descriptor());
EXPECT_VALUE(layers::Convolution, descriptor());
EXPECT_VALUE(layers::MatMul, descriptor());
EXPECT_VALUE(layers::Pooling, descriptor());
EXPECT_VALUE(layers::BatchNormalization, mean());
EXPECT_VALUE(layers::BatchNormalization, variance());
EXPECT_VALUE(layers::BatchNormalization, beta());
EXPECT_VALUE(layers::BatchNormalization, gamma());
EXPECT_VALUE(layers::Embedding, descriptor());
EXPECT_VALUE(layers::Embedding, weights());
EXPECT_VALUE(layers::Reshape, shape());
EXPECT_VALUE(layers::Transpose, axes());
EXPECT_VALUE(layers::Slice, start());
EXPECT_VALUE(layers::Slice, end());
EXPECT_VALUE(layers::Slice, stride());
EXPECT_VALUE(losses::Loss, descriptor());
EXPECT_VALUE(losses::Loss, weights());
EXPECT_VALUE(optimizers::SGD, descriptor());
EXPECT_VALUE(ExecutionResult, output(""));
EXPECT_VALUE(ExecutionResult, outputs());
EXPECT_VALUE(ExecutionResult, layer_times());
#undef EXPECT_VALUE

TEST(Temporaries, AnOutputOutlivesItsResult) {
  Linear net;
  TrainingGraph t = net.train(sgd(0.1f));
  const auto& y = t.execute(net.inputs, net.labels).result().output("y");
  const auto result = t.execute(net.inputs, net.labels).result().result();
  const auto outputs = t.execute(net.inputs, net.labels).result().outputs();
  const Floats before = floats_of(y), loss = floats_of(*result),
               second = floats_of(outputs.at(0));
  // Their memory is not used for what comes later.
  for (int i = 0; i < 20; ++i) t.execute(net.inputs, net.labels).wait();
  EXPECT_EQ(floats_of(y), before);
  EXPECT_EQ(floats_of(*result), loss);
  EXPECT_EQ(floats_of(outputs[0]), second);
  EXPECT_EQ(y.name, "y");
}

TEST(Temporaries, AnOutputOutlivesItsGraph) {
  std::optional<OutputView> y;
  {
    Linear net;
    y = net.train(sgd(0.1f))
            .execute(net.inputs, net.labels)
            .result()
            .output("y");
  }
  EXPECT_EQ(y->name, "y");
  EXPECT_EQ(y->data.size(), 8 * sizeof(float));
}

}  // namespace
}  // namespace traingraph
