// SPDX-License-Identifier: MIT
// No option is accepted and dropped: each one changes the program, the
// parameters or the update's attributes, or is refused by name.
#include "layers/options.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "traingraph/error.h"
#include "traingraph/layers.h"

namespace traingraph::testing {
namespace {

using namespace layers;  // NOLINT: tests
using Case = OptionCase;

/// Everything that an option can change.
struct Outcome {
  std::string text;
  std::optional<ErrorInfo> error;
};

Outcome outcome_of(const std::function<std::string()>& make) {
  try {
    return {make(), {}};
  } catch (const Error& error) {
    return {"", error.info()};
  }
}

}  // namespace

TEST_P(Options, AreHonouredOrRefused) {
  const Case& c = GetParam();
  const Outcome before = outcome_of(c.without);
  ASSERT_FALSE(before.error) << before.error->what;
  const Outcome after = outcome_of(c.with);
  if (c.refused.empty()) {
    ASSERT_FALSE(after.error) << after.error->op << ": " << after.error->what
                              << ", got " << after.error->got;
    EXPECT_NE(after.text, before.text) << "no effect";
    return;
  }
  ASSERT_TRUE(after.error) << "accepted";
  EXPECT_NE(after.error->what.find(c.refused), std::string::npos)
      << after.error->what;
}

namespace {

std::vector<Case> window_cases() {
  using C = ConvolutionDescriptor;
  const C plain{.kernel_size = {3, 3},
                .input_feature_channel_count = 4,
                .output_feature_channel_count = 4};
  const auto convolution = [](const C& descriptor) {
    return [=] {
      return lowered(std::make_shared<Convolution>(descriptor), {2, 4, 8, 8});
    };
  };
  const C one{.kernel_size = {1, 1},
              .input_feature_channel_count = 4,
              .output_feature_channel_count = 4};
  const auto dense = [](const C& descriptor) {
    return [=] {
      return lowered(std::make_shared<FullyConnected>(descriptor), {2, 4});
    };
  };
  std::vector<Case> cases;
  const auto add = [&](const std::string& name, auto member, auto value,
                       const char* refused = "", const char* dense_too = "") {
    C changed = plain;
    changed.*member = value;
    cases.push_back({"convolution_" + name, convolution(changed),
                     convolution(plain), refused});
    if (std::string_view(dense_too).empty()) return;
    changed = one;
    changed.*member = value;
    cases.push_back(
        {"fully_connected_" + name, dense(changed), dense(one), dense_too});
  };
  add("type", &C::convolution_type, ConvolutionType::Depthwise, "",
      "convolution_type");
  add("transposed", &C::convolution_type, ConvolutionType::Transposed, "",
      "convolution_type");
  add("kernel_size", &C::kernel_size, Pair{5, 3}, "", "kernel_size");
  add("group_count", &C::group_count, 2, "", "group_count");
  add("strides", &C::strides, Pair{2, 1}, "", "strides");
  add("dilation_rates", &C::dilation_rates, Pair{1, 2}, "", "dilation_rates");
  add("policy", &C::padding_policy, PaddingPolicy::Valid);
  add("padding_sizes", &C::padding_sizes, Pair{1, 0}, "padding_sizes",
      "padding_sizes");
  add("no_kernel", &C::kernel_size, Pair{}, "kernel_size");
  C depthwise = plain;
  depthwise.output_feature_channel_count = 5;
  cases.push_back(
      {"depthwise_outputs",
       [=, d = depthwise] { return convolution(C::depthwise(d))(); },
       convolution(plain), "output_feature_channel_count"});
  C transposed = plain;
  transposed.convolution_type = ConvolutionType::Depthwise;
  cases.push_back(
      {"transposed_type",
       [=, d = transposed] { return convolution(C::transposed(d))(); },
       convolution(plain), "convolution_type"});

  using P = PoolingDescriptor;
  for (const PoolingType type :
       {PoolingType::Max, PoolingType::Average, PoolingType::L2Norm}) {
    const P pool{.pooling_type = type, .kernel_size = {2, 2}};
    const auto pooling = [](const P& descriptor) {
      return [=] {
        return lowered(std::make_shared<Pooling>(descriptor), {2, 4, 8, 8});
      };
    };
    const auto add_pooling = [&](const std::string& name, auto member,
                                 auto value, const char* refused = "") {
      P changed = pool;
      changed.*member = value;
      cases.push_back({std::string(to_string(type)) + "_pooling_" + name,
                       pooling(changed), pooling(pool), refused});
    };
    add_pooling("kernel_size", &P::kernel_size, Pair{3, 2});
    add_pooling("no_kernel", &P::kernel_size, Pair{}, "kernel_size");
    add_pooling("strides", &P::strides, Pair{2, 1});
    add_pooling("dilation_rates", &P::dilation_rates, Pair{1, 2});
    add_pooling("policy", &P::padding_policy, PaddingPolicy::Valid);
    add_pooling("padding_sizes", &P::padding_sizes, Pair{1, 0},
                "padding_sizes");
    P floor = pool;  // a third window begins at sample 6 of 8
    floor.kernel_size = floor.strides = {3, 3};
    floor.padding_policy = PaddingPolicy::Valid;
    P ceil = floor;
    ceil.ceil_mode = true;
    cases.push_back({std::string(to_string(type)) + "_pooling_ceil_mode",
                     pooling(ceil), pooling(floor), ""});
    add_pooling("count_includes_padding", &P::count_includes_padding, true,
                type == PoolingType::Average ? "" : "count_includes_padding");
  }
  cases.push_back({"pooling_factory_type",
                   [] {
                     P::average({.pooling_type = PoolingType::L2Norm,
                                 .kernel_size = {2, 2}});
                     return std::string();
                   },
                   [] { return std::string(); }, "pooling_type"});
  return cases;
}

std::vector<Case> weight_cases() {
  const auto dense = [](const WeightOptions& options) {
    return [=] {
      Platform::set_rng_seed(3);
      const auto layer = std::make_shared<FullyConnected>(4, 4, options);
      std::string text = lowered(layer, {2, 4});
      for (float value : layer->weights().floats()) {
        text += " " + std::to_string(value);
      }
      return text;
    };
  };
  const Tensor w = Tensor::filled({.shape = {4, 4}}, 1, "w");
  const Tensor b = Tensor::filled({.shape = {4}}, 1, "b");
  const auto uniform = RandomInitializerType::Uniform;
  const auto off = [](WeightOptions options) {
    options.uses_biases = false;
    return options;
  };
  return {
      {"initializer", dense({.initializer = uniform}), dense({}), ""},
      {"uses_biases", dense(off({})), dense({}), ""},
      {"given_weights", dense({.weights = w}), dense({}), ""},
      {"given_weights_uses_biases", dense(off({.weights = w})),
       dense({.weights = w}), ""},
      {"given_weights_initializer",
       dense({.weights = w, .initializer = uniform}), dense({.weights = w}),
       "initializer"},
      {"given_biases_uses_biases", dense(off({.biases = b})),
       dense({.biases = b}), "uses_biases"},
      {"random_fan",
       [] {
         Tensor::random({.shape = {2}}, RandomInitializerType::Uniform, 3);
         return std::string();
       },
       [] { return std::string(); }, "fan_in"},
  };
}

std::vector<Case> other_cases() {
  const auto pad = [](PaddingType type, float value) {
    return [=] {
      return lowered(std::make_shared<layers::Padding>(
                         type, std::vector<std::int64_t>{1}, value),
                     {2, 4, 8, 8});
    };
  };
  const auto matmul = [](const MatMulDescriptor& descriptor) {
    return [=] {
      return lowered(std::make_shared<MatMul>(descriptor), {2, 3, 3}, 2);
    };
  };
  const auto norm = [](const BatchNormalizationOptions& options) {
    return [=] {
      return lowered(std::make_shared<BatchNormalization>(4, options),
                     {2, 4, 8, 8});
    };
  };
  const auto reduce = [](ReductionType type, const Shape& axes) {
    return [=] {
      return lowered(std::make_shared<Reduction>(type, axes), {2, 3});
    };
  };
  const auto layer = [](auto make) {
    return [=] { return lowered(make(), {2, 4, 8, 8}); };
  };
  return {
      {"pad_constant", pad(PaddingType::Constant, 1),
       pad(PaddingType::Constant, 0), ""},
      {"pad_zero", pad(PaddingType::Zero, 1), pad(PaddingType::Zero, 0),
       "constant_value"},
      {"pad_reflect", pad(PaddingType::Reflect, 1),
       pad(PaddingType::Reflect, 0), "constant_value"},
      {"pad_symmetric", pad(PaddingType::Symmetric, 1),
       pad(PaddingType::Symmetric, 0), "constant_value"},
      {"pad_replicate", pad(PaddingType::Replicate, 1),
       pad(PaddingType::Replicate, 0), "constant_value"},
      {"upsample_sample_mode", layer([] {
         return std::make_shared<Upsample>(Shape{9, 9}, SampleMode::Linear);
       }),
       layer([] { return std::make_shared<Upsample>(Shape{9, 9}); }), ""},
      {"upsample_aligns_corners", layer([] {
         return std::make_shared<Upsample>(Shape{9, 9}, SampleMode::Linear,
                                           true);
       }),
       layer([] {
         return std::make_shared<Upsample>(Shape{9, 9}, SampleMode::Linear);
       }),
       ""},
      {"upsample_aligns_nearest", layer([] {
         return std::make_shared<Upsample>(Shape{9, 9}, SampleMode::Nearest,
                                           true);
       }),
       layer([] { return std::make_shared<Upsample>(Shape{9, 9}); }),
       "aligns_corners"},
      {"gram_matrix_scale",
       layer([] { return std::make_shared<GramMatrix>(0.5f); }),
       layer([] { return std::make_shared<GramMatrix>(); }), ""},
      {"matmul_alpha", matmul({.alpha = 2}), matmul({}), ""},
      {"matmul_x", matmul({.transposes_x = true}), matmul({}), ""},
      {"matmul_y", matmul({.transposes_y = true}), matmul({}), ""},
      {"norm_epsilon", norm({.variance_epsilon = 0.5f}), norm({}), ""},
      {"norm_momentum", norm({.momentum = 0.5f}), norm({}), ""},
      {"reduce_dimensions", reduce(ReductionType::Sum, {1}),
       reduce(ReductionType::Sum, {}), ""},
      {"reduce_none_of_no_axis", reduce(ReductionType::None, {2}),
       reduce(ReductionType::None, {1}), "axes is not an axis"},
      {"dropout_rate", layer([] { return std::make_shared<Dropout>(0.25f); }),
       layer([] { return std::make_shared<Dropout>(0.5f); }), ""},
      {"dropout_seed", layer([] { return std::make_shared<Dropout>(0.5f, 7); }),
       layer([] { return std::make_shared<Dropout>(0.5f); }), ""},
      {"softmax_operation", layer([] {
         return std::make_shared<Softmax>(SoftmaxOperation::LogSoftmax);
       }),
       layer([] { return std::make_shared<Softmax>(); }), ""},
      {"softmax_dimension", layer([] {
         return std::make_shared<Softmax>(SoftmaxOperation::Softmax, 2);
       }),
       layer([] { return std::make_shared<Softmax>(); }), ""},
      {"gelu_tanh", layer([] { return std::make_shared<GELU>(true); }),
       layer([] { return std::make_shared<GELU>(); }), ""},
      {"slice_stride", layer([] {
         return std::make_shared<Slice>(Shape{0, 0, 0, 0}, Shape{2, 4, 8, 8},
                                        Shape{1, 1, 2, 1});
       }),
       layer([] {
         return std::make_shared<Slice>(Shape{0, 0, 0, 0}, Shape{2, 4, 8, 8});
       }),
       ""},
  };
}

INSTANTIATE_TEST_SUITE_P(Windows, Options, ::testing::ValuesIn(window_cases()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Weights, Options, ::testing::ValuesIn(weight_cases()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Others, Options, ::testing::ValuesIn(other_cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace traingraph::testing
