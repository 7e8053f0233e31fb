// SPDX-License-Identifier: MIT
// What the GPU does not run is refused before MPSGraph sees it.
#include <gtest/gtest.h>

#include "metal/gpu_limits.h"
#include "metal/lowering_support.h"
#include "support/training.h"

namespace traingraph::testing {
namespace {

constexpr metal::GpuLimits kLimits;
constexpr std::int64_t kMaxConvolutionChannels =
    kLimits.max_convolution_channels;
constexpr std::int64_t kMaxConvolutionKernel = kLimits.max_convolution_kernel;

const Attributes kCopy = ReduceAttrs{ReductionType::None, {}};

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Refusals, OfNoType) {
  for (DataType type : {DataType::Float32, DataType::Float16,
                        DataType::BFloat16, DataType::Boolean, DataType::Int64,
                        DataType::Int32, DataType::Int8, DataType::UInt8}) {
    EXPECT_EQ(
        reason_refused(OpKind::Reshape, ShapeAttrs{{4}}, {{{2, 2}, type}}), "");
  }
}

TEST(Refusals, OfTooManyElements) {
  constexpr std::int64_t kLimit = kLimits.max_elements + 1;
  const auto copy = [](const Shape& shape) {
    return reason_refused(OpKind::Reduce, kCopy, {{shape}});
  };
  EXPECT_TRUE(holds(copy({kLimit}), "elements"));
  EXPECT_TRUE(holds(copy({1 << 16, 1 << 15}), "elements"));
  EXPECT_TRUE(holds(copy({kLimit - 1}), "bytes"));
  EXPECT_TRUE(holds(copy({1 << 30}), "bytes"));
  EXPECT_EQ(copy({(1 << 30) - 1}), "");
  // The result counts too.
  EXPECT_TRUE(
      holds(reason_refused(OpKind::BroadcastTo, ShapeAttrs{{1 << 16, 1 << 16}},
                           {{{1, 1 << 16}}}),
            "elements"));
}

/// The reasons for the op and its two gradients, joined.
std::vector<std::string> convolution_reasons(const Shape& x,
                                             const Shape& weights) {
  const Shape y{x[0], weights[0], x[2] - weights[2] + 1, x[3] - weights[3] + 1};
  const auto to = [](const Shape& shape) {
    Convolution2dGradientAttrs attrs;
    attrs.shape = shape;
    return attrs;
  };
  return {reason_refused(OpKind::Convolution2d, Convolution2dAttrs{},
                         {{x}, {weights}}),
          reason_refused(OpKind::Convolution2dInputGradient, to(x),
                         {{y}, {weights}}),
          reason_refused(OpKind::Convolution2dWeightsGradient, to(weights),
                         {{y}, {x}})};
}

TEST(Refusals, OfConvolutionChannels) {
  for (const Shape& weights : {Shape{kMaxConvolutionChannels + 1, 1, 1, 1},
                               Shape{1, kMaxConvolutionChannels + 1, 1, 1}}) {
    for (const auto& reason :
         convolution_reasons({1, weights[1], 1, 1}, weights)) {
      EXPECT_TRUE(holds(reason, "channels")) << reason;
    }
  }
  for (const auto& reason :
       convolution_reasons({1, 1, 1, 1}, {kMaxConvolutionChannels, 1, 1, 1})) {
    EXPECT_EQ(reason, "");
  }
}

TEST(Refusals, OfConvolutionKernels) {
  constexpr std::int64_t kTooLong = kMaxConvolutionKernel + 1;
  for (const Shape& weights :
       {Shape{1, 1, 1, kTooLong}, Shape{1, 1, kTooLong, 1}}) {
    for (const auto& reason :
         convolution_reasons({1, 1, kTooLong, kTooLong}, weights)) {
      EXPECT_TRUE(holds(reason, "kernels")) << reason;
    }
  }
  for (const auto& reason : convolution_reasons(
           {1, 1, kTooLong, kTooLong}, {1, 1, 1, kMaxConvolutionKernel})) {
    EXPECT_EQ(reason, "");
  }
}

// A huge dilation rate needs huge padding for its kernel to fit.
TEST(Refusals, OfConvolutionPadding) {
  constexpr std::int64_t kHuge = (std::int64_t{1} << 31) - 1;
  const Shape image{1, 1, 4, 4}, weights{1, 1, 3, 3};
  const auto reasons = [&](std::int64_t dilation, const Padding& padding) {
    const Convolution2dAttrs attrs{.dilation_rates = {dilation, 1},
                                   .padding = padding};
    const auto to = [&](const Shape& shape) {
      Convolution2dGradientAttrs gradient;
      gradient.dilation_rates = attrs.dilation_rates;
      gradient.padding = padding;
      gradient.shape = shape;
      return gradient;
    };
    const std::int64_t rows = 4 + padding[0] + padding[1] - 2 * dilation;
    const Shape y{1, 1, rows, 2};
    return std::vector<std::string>{
        reason_refused(OpKind::Convolution2d, attrs, {{image}, {weights}}),
        reason_refused(OpKind::Convolution2dInputGradient, to(image),
                       {{y}, {weights}}),
        reason_refused(OpKind::Convolution2dWeightsGradient, to(weights),
                       {{y}, {image}})};
  };
  for (const auto& reason : reasons(kHuge, {kHuge, kHuge, 0, 0})) {
    EXPECT_TRUE(holds(reason, "padding included")) << reason;
  }
  for (const auto& reason : reasons(1 << 20, {1 << 20, 1 << 20, 0, 0})) {
    EXPECT_EQ(reason, "");
  }
}

TEST(Refusals, NameTheLayer) {
  const Tensor x({{1, 1, 1, 300}}, "x");
  const auto layer = std::make_shared<layers::Convolution>(
      ConvolutionDescriptor{.kernel_size = {1, kMaxConvolutionKernel + 1},
                            .input_feature_channel_count = 1,
                            .output_feature_channel_count = 1});
  layer->set_name("wide");
  Graph graph;
  const Tensor y = graph.node(layer, x);
  InferenceGraph inference({graph});
  inference.add_inputs({{"x", x}});
  inference.add_outputs({{"y", y}});
  const ErrorInfo error =
      error_of<UnsupportedError>([&] { inference.compile(Device::gpu()); });
  EXPECT_EQ(error.node, "wide");
  EXPECT_EQ(error.op, "convolution_2d");
}

}  // namespace
}  // namespace traingraph::testing
