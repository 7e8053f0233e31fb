// SPDX-License-Identifier: MIT
// Values of the layers that are composed of several ops, evaluated by the
// reference of the op tests, against their formulas.
#include <gtest/gtest.h>

#include <cmath>

#include "autodiff/gradient.h"
#include "graph/platform.h"
#include "graph/tensor_state.h"
#include "layers/graph_state.h"
#include "support/reference.h"
#include "traingraph/graph.h"
#include "traingraph/layers.h"

namespace traingraph::testing {
namespace {

// Sums of a few dozen products of floats in double precision.
constexpr double kTolerance = 1e-9;

RefTensor contents(const Tensor& tensor) {
  const std::span<const float> values = tensor.floats();
  return {.shape = tensor.shape(), .data = {values.begin(), values.end()}};
}

Tensor random(Shape shape) {
  return Tensor::random({.shape = shape}, RandomInitializerType::Xavier, 1, 1);
}

/// Contents of all inputs and variables, from their tensors.
RefValues givens(const GraphState& graph) {
  const Program& program = graph.program;
  RefValues values;
  for (ValueId id = 0; id < static_cast<ValueId>(program.values().size());
       ++id) {
    const Value& value = program.value(id);
    if (value.role == Role::Result) continue;
    values[id] = contents(graph.tensors[value.tensor]);
    values[id].shape = value.desc.shape;
  }
  return values;
}

RefTensor value_after(const LayerPtr& layer, const Tensor& x) {
  Graph graph;
  const Tensor y = graph.node(layer, x);
  const Program& program = graph.state()->program;
  return evaluate_program(program, givens(*graph.state()))
      .at(graph.state()->value_of.at(y.tensor_id()));
}

void expect_equal(const RefTensor& got, const RefTensor& expected) {
  ASSERT_EQ(got.shape, expected.shape);
  for (std::size_t i = 0; i < got.data.size(); ++i) {
    EXPECT_NEAR(got.data[i], expected.data[i], kTolerance) << "element " << i;
  }
}

/// Scatters x[n,c,i,j] w[o,c,u,v] to y[n, o, i sY + u dY - top, ...].
RefTensor scatter(const ConvolutionDescriptor& d, const Tensor& x,
                  const Tensor& weights, const Tensor& biases, Shape result,
                  Pair before) {
  const RefTensor from = contents(x), w = contents(weights);
  RefTensor y = zeros(result);
  const auto& s = x.shape();
  const std::int64_t group_inputs =
      d.input_feature_channel_count / d.group_count;
  const std::int64_t group_outputs =
      d.output_feature_channel_count / d.group_count;
  for (std::int64_t n = 0; n < s[0]; ++n)
    for (std::int64_t o = 0; o < result[1]; ++o)
      for (std::int64_t c = 0; c < group_inputs; ++c)
        for (std::int64_t i = 0; i < s[2]; ++i)
          for (std::int64_t j = 0; j < s[3]; ++j)
            for (std::int64_t u = 0; u < d.kernel_height(); ++u)
              for (std::int64_t v = 0; v < d.kernel_width(); ++v) {
                const auto row = i * d.stride_in_y() +
                                 u * d.dilation_rate_in_y() - before[0];
                const auto column = j * d.stride_in_x() +
                                    v * d.dilation_rate_in_x() - before[1];
                if (row < 0 || row >= result[2]) continue;
                if (column < 0 || column >= result[3]) continue;
                const auto channel = o / group_outputs * group_inputs + c;
                y({n, o, row, column}) +=
                    from({n, channel, i, j}) * w({o, c, u, v});
              }
  for (std::int64_t n = 0; n < result[0]; ++n)
    for (std::int64_t o = 0; o < result[1]; ++o)
      for (std::int64_t i = 0; i < result[2]; ++i)
        for (std::int64_t j = 0; j < result[3]; ++j)
          y({n, o, i, j}) += biases.floats()[o];
  return y;
}

TEST(LayerValues, TransposedConvolutionScatters) {
  Platform::set_rng_seed(11);
  struct Case {
    PaddingPolicy policy;
    std::int64_t groups;
    Pair dilation, padding, before;
    Shape result;
  };
  using enum PaddingPolicy;
  // k' = (3, 2), stride (2, 3): Same pads max(k' - s, 0) = (1, 0).
  for (const Case& c :
       {Case{Same, 1, {1, 1}, {}, {0, 0}, {2, 6, 6, 12}},
        Case{Valid, 2, {1, 1}, {}, {0, 0}, {2, 6, 7, 11}},
        Case{Valid, 1, {2, 3}, {}, {0, 0}, {2, 6, 9, 13}},
        Case{UsePaddingSize, 2, {1, 1}, {1, 2}, {1, 2}, {2, 6, 5, 7}}}) {
    const auto descriptor =
        ConvolutionDescriptor::transposed({.kernel_size = {3, 2},
                                           .input_feature_channel_count = 4,
                                           .output_feature_channel_count = 6,
                                           .group_count = c.groups,
                                           .strides = {2, 3},
                                           .dilation_rates = c.dilation,
                                           .padding_policy = c.policy,
                                           .padding_sizes = c.padding});
    const Tensor weights = random({6, 4 / c.groups, 3, 2});
    const Tensor biases = random({6}), x = random({2, 4, 3, 4});
    const auto layer = std::make_shared<layers::Convolution>(
        descriptor, WeightOptions{.weights = weights, .biases = biases});
    expect_equal(value_after(layer, x),
                 scatter(descriptor, x, weights, biases, c.result, c.before));
  }
}

TEST(LayerValues, DepthwiseConvolutionReadsItsChannel) {
  Platform::set_rng_seed(12);
  const auto descriptor = ConvolutionDescriptor::depthwise(
      {.kernel_size = {1, 1}, .input_feature_channel_count = 3}, 2);
  const auto layer = std::make_shared<layers::Convolution>(descriptor);
  const Tensor x = random({1, 3, 2, 2});
  const RefTensor w = contents(layer->weights()), from = contents(x);
  RefTensor expected = zeros({1, 6, 2, 2});
  for (std::int64_t o = 0; o < 6; ++o) {
    for (std::int64_t p = 0; p < 4; ++p) {
      expected({0, o, p / 2, p % 2}) =
          w({o, 0, 0, 0}) * from({0, o / 2, p / 2, p % 2});
    }
  }
  expect_equal(value_after(layer, x), expected);
}

TEST(LayerValues, FullyConnectedKeepsLeadingAxes) {
  Platform::set_rng_seed(13);
  const Tensor biases = random({2});
  for (const Shape& shape : {Shape{4, 3}, Shape{2, 2, 3}, Shape{4, 3, 1, 1}}) {
    const auto layer = std::make_shared<layers::FullyConnected>(
        3, 2, WeightOptions{.weights = random({1, 6, 1, 1}), .biases = biases});
    const Tensor x = random(shape);
    Shape result = shape;
    result[shape.rank() == 4 ? 1 : shape.rank() - 1] = 2;
    RefTensor expected = zeros(result);
    const auto w = layer->weights().floats();
    for (std::int64_t row = 0; row < 4; ++row) {
      for (std::int64_t o = 0; o < 2; ++o) {
        double& y = expected.data[row * 2 + o];
        y = biases.floats()[o];
        for (std::int64_t k = 0; k < 3; ++k) {
          y += static_cast<double>(x.floats()[row * 3 + k]) * w[o * 3 + k];
        }
      }
    }
    expect_equal(value_after(layer, x), expected);
  }
}

TEST(LayerValues, L2NormPoolingAndItsGradientAtZero) {
  const std::vector<float> values{3, 4, 0, 0, 0, 0, 0, 0};
  const Tensor x({.shape = {1, 1, 2, 4}}, TensorData(std::span(values)));
  Graph graph;
  const Tensor y = graph.node(std::make_shared<layers::L2NormPooling>(2), x);
  Program program = graph.state()->program;
  const ValueId in = graph.state()->value_of.at(x.tensor_id());
  const ValueId out = graph.state()->value_of.at(y.tensor_id());
  const ValueId seed = program.append_one(
      OpKind::Fill, FillAttrs{.shape = y.shape(), .value = 10}, {});
  const GradientMap gradients = differentiate(
      program, {.seeds = {{out, seed}}, .wanted = {in}, .stopped = {}});
  const RefValues all = evaluate_program(program, givens(*graph.state()));
  expect_equal(all.at(out), {.shape = {1, 1, 1, 2}, .data = {5, 0}});
  // g x / y, and 0 where y is 0.
  expect_equal(all.at(gradients.at(in)),
               {.shape = {1, 1, 2, 4}, .data = {6, 8, 0, 0, 0, 0, 0, 0}});
}

TEST(LayerValues, L2NormPoolingIgnoresPadding) {
  const Tensor x = Tensor::filled({.shape = {1, 1, 3, 3}}, 2);
  const RefTensor y = value_after(
      std::make_shared<layers::L2NormPooling>(2, 2, PaddingPolicy::Same), x);
  const double two = std::sqrt(8.0);
  expect_equal(y, {.shape = {1, 1, 2, 2}, .data = {4, two, two, 2}});
}

}  // namespace
}  // namespace traingraph::testing
