// SPDX-License-Identifier: MIT
// Convolutions and their gradients on a GPU that gets many images, rows and
// columns wrong and ends at gradients of depthwise ones.
#include <gtest/gtest.h>

#include <random>

#include "emulator/hardware_faults.h"
#include "metal/lowering_support.h"
#include "runtime/device/backend.h"

namespace traingraph::testing {
namespace {

using emulator::Imitation;
using metal::GpuLimits;

Operand operand(const Shape& shape, int period) {
  return {shape, whole_numbers(shape.num_elements(), period)};
}

struct Convolution {
  Convolution2dAttrs attrs;
  Shape image, weights, result;

  Convolution2dGradientAttrs gradient(const Shape& shape) const {
    return {attrs.strides, attrs.dilation_rates, attrs.padding, attrs.groups,
            shape};
  }
  std::string text() const {
    return image.to_string() + " by " + weights.to_string() + " strides " +
           Shape(attrs.strides).to_string() + " dilation " +
           Shape(attrs.dilation_rates).to_string() + " padding " +
           Shape(attrs.padding).to_string() + " groups " +
           std::to_string(attrs.groups);
  }
};

/// Up to so many images, rows and columns.
Convolution random_convolution(std::mt19937& random, int images, int extent) {
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  Convolution c;
  c.attrs.groups = pick(1, 3);
  const std::int64_t inputs = pick(1, 2), outputs = pick(1, 2);
  c.image = {pick(1, images), inputs * c.attrs.groups, 0, 0};
  c.weights = {outputs * c.attrs.groups, inputs, pick(1, 3), pick(1, 3)};
  c.result = {c.image[0], c.weights[0], 0, 0};
  for (int i = 0; i < 2; ++i) {
    c.attrs.strides[i] = pick(1, 3);
    c.attrs.dilation_rates[i] = pick(1, 2);
    c.attrs.padding[2 * i] = pick(0, 3);
    c.attrs.padding[2 * i + 1] = pick(0, 3);
    const std::int64_t reach =
        (c.weights[2 + i] - 1) * c.attrs.dilation_rates[i] + 1;
    c.image[2 + i] = pick(static_cast<int>(reach), extent);
    c.result[2 + i] = (c.image[2 + i] + c.attrs.padding[2 * i] +
                       c.attrs.padding[2 * i + 1] - reach) /
                          c.attrs.strides[i] +
                      1;
  }
  return c;
}

void expect_exact_forward(const std::shared_ptr<DeviceContext>& gpu,
                          const Convolution& c) {
  expect_exact(
      gpu, OpKind::Convolution2d, c.attrs,
      {operand(c.image, 7), operand(c.weights, 5), operand({c.weights[0]}, 3)});
}

void expect_exact_gradients(const std::shared_ptr<DeviceContext>& gpu,
                            const Convolution& c) {
  expect_exact(gpu, OpKind::Convolution2dInputGradient, c.gradient(c.image),
               {operand(c.result, 7), operand(c.weights, 5)});
  expect_exact(gpu, OpKind::Convolution2dWeightsGradient, c.gradient(c.weights),
               {operand(c.result, 7), operand(c.image, 5)});
}

TEST(HardwareConvolutions, AreWrongWhenTheyAreLarge) {
  const auto gpu = gpu_with([](auto&) {});
  Convolution c;
  c.image = c.result = {7, 1, 1, 1};
  c.weights = {1, 1, 1, 1};
  const std::vector<Operand> in{operand(c.image, 7), operand(c.weights, 5)};
  expect_exact(gpu, OpKind::Convolution2d, c.attrs, in);
  const Imitation imitation(
      {.max_convolution_extent = 6, .max_gradient_extent = 6});
  const auto differs = [&](OpKind op, const Attributes& attrs) {
    const std::vector<Operand> operands{
        in[0], op == OpKind::Convolution2dWeightsGradient ? in[0] : in[1]};
    return run_op_in(gpu, op, attrs, operands) !=
           run_op_on(DeviceType::CPU, op, attrs, operands);
  };
  EXPECT_TRUE(differs(OpKind::Convolution2d, c.attrs));
  EXPECT_TRUE(differs(OpKind::Convolution2dInputGradient, c.gradient(c.image)));
  EXPECT_TRUE(
      differs(OpKind::Convolution2dWeightsGradient, c.gradient(c.weights)));
}

TEST(HardwareConvolutions, AreTiled) {
  constexpr std::int64_t kForward = 7, kGradient = 17;
  const auto gpu = gpu_with([](GpuLimits& limits) {
    limits.max_convolution_extent = kForward;
    limits.max_gradient_extent = kGradient;
  });
  const Imitation imitation({.max_convolution_extent = kForward,
                             .max_gradient_extent = kGradient,
                             .ends_at_depthwise_gradients = true});
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  for (int i = 0; i < 60; ++i) {
    const bool has_many_images = i % 4 == 0;
    const Convolution c = random_convolution(random, has_many_images ? 40 : 3,
                                             has_many_images ? 9 : 40);
    SCOPED_TRACE(c.text() + " seed " + std::to_string(seed));
    expect_exact_forward(gpu, c);
    expect_exact_gradients(gpu, c);
  }
}

TEST(HardwareConvolutions, AreTiledAtTheRealBorder) {
  const auto gpu = gpu_with([](GpuLimits& limits) { limits = {}; });
  const Imitation imitation(
      {.max_convolution_extent = GpuLimits{}.max_convolution_extent,
       .max_gradient_extent = GpuLimits{}.max_gradient_extent});
  for (const std::int64_t extent : {65535, 65536, 65537}) {
    Convolution images;
    images.image = images.result = {extent, 1, 1, 1};
    images.weights = {1, 1, 1, 1};
    expect_exact_forward(gpu, images);
    expect_exact_gradients(gpu, images);
    Convolution columns;
    columns.image = columns.result = {1, 1, 1, extent};
    columns.weights = {1, 1, 1, 3};
    columns.attrs.padding = {0, 0, 1, 1};
    expect_exact_forward(gpu, columns);
    expect_exact_gradients(gpu, columns);
  }
}

TEST(HardwareConvolutions, OfOneChannelEachAreDepthwise) {
  const Imitation imitation({.ends_at_depthwise_gradients = true});
  const auto gpu = gpu_with([](auto&) {});
  for (const std::int64_t multiplier : {1, 2, 3}) {
    Convolution c;
    c.attrs.groups = 4;
    c.attrs.strides = {2, 1};
    c.attrs.padding = {1, 0, 2, 1};
    c.image = {3, 4, 7, 6};
    c.weights = {4 * multiplier, 1, 3, 2};
    c.result = {3, 4 * multiplier, 3, 8};
    expect_exact_forward(gpu, c);
    expect_exact_gradients(gpu, c);
  }
}

TEST(HardwareConvolutionsDeathTest, OfOneChannelEachEndTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Convolution c;
  c.attrs.groups = 2;
  c.image = {1, 2, 3, 3};
  c.weights = {2, 1, 1, 1};
  c.result = c.image;
  EXPECT_DEATH(
      {
        const Imitation imitation({.ends_at_depthwise_gradients = true});
        expect_exact_gradients(
            gpu_with([](auto& limits) { limits.calls_depthwise = false; }), c);
      },
      "kernel width mismatch");
}

/// A convolution, or the gradient by its image, whose weights are transposed,
/// as those of transposed convolution are.
std::vector<float> convolution_by_turned_weights(
    const std::shared_ptr<DeviceContext>& device, bool is_gradient,
    std::int64_t groups) {
  Program program;
  const ValueId x =
      program.add_value(Role::Input, {{2, 2 * groups, 4, 4}}, "x");
  const ValueId stored = program.add_value(
      Role::Input, {{is_gradient ? 1 : 2, 2 * groups, 3, 3}}, "weights");
  const ValueId weights = program.append_one(
      OpKind::Transpose, TransposeAttrs{{1, 0, 2, 3}}, {stored});
  ValueId y;
  if (is_gradient) {
    Convolution2dGradientAttrs attrs;
    attrs.groups = groups;
    attrs.shape = {2, groups, 6, 6};
    y = program.append_one(OpKind::Convolution2dInputGradient, attrs,
                           {x, weights});
  } else {
    Convolution2dAttrs attrs;
    attrs.groups = groups;
    y = program.append_one(OpKind::Convolution2d, attrs, {x, weights});
  }
  const std::vector<ValueId> kept{y};
  ProgramRun run(program, kept, device);
  const auto numbers = [&](ValueId value, int period) {
    const auto all = whole_numbers(program.shape(value).num_elements(), period);
    return std::vector<float>(all.begin(), all.end());
  };
  run.set<float>(x, numbers(x, 7));
  run.set<float>(stored, numbers(stored, 5));
  run.run();
  return run.get(y);
}

TEST(HardwareConvolutions, ReadTransposedWeightsThatAreWrittenDown) {
  const auto cpu = find_device_context(DeviceType::CPU);
  for (const bool is_gradient : {false, true}) {
    for (const std::int64_t groups : {1, 2}) {
      const auto run = [&](bool writes) {
        const Imitation imitation({.misreads_views_of_weights = true});
        return convolution_by_turned_weights(
            gpu_with([&](auto& limits) { limits.writes_weights = writes; }),
            is_gradient, groups);
      };
      const auto expected =
          convolution_by_turned_weights(cpu, is_gradient, groups);
      EXPECT_NE(run(false), expected);
      EXPECT_EQ(run(true), expected);
    }
  }
}

TEST(HardwareConvolutions, ThatReachOverATileAreRefused) {
  Convolution2dGradientAttrs attrs;
  attrs.dilation_rates = {1, 40'000};
  attrs.shape = {1, 1, 1, 100'000};
  EXPECT_NE(reason_refused(OpKind::Convolution2dInputGradient, attrs,
                           {{{1, 1, 1, 20'000}}, {{1, 1, 1, 3}}}),
            "");
  attrs.dilation_rates = {1, 10};
  EXPECT_EQ(reason_refused(OpKind::Convolution2dInputGradient, attrs,
                           {{{1, 1, 1, 99'980}}, {{1, 1, 1, 3}}}),
            "");
}

}  // namespace
}  // namespace traingraph::testing
