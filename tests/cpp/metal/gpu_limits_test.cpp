// SPDX-License-Identifier: MIT
// What is known about systems, and that decisions follow the limits they are
// given.
#include "metal/gpu_limits.h"

#include <gtest/gtest.h>

#include "metal/lowering_support.h"
#include "metal/metal_backend.h"

namespace traingraph::testing {
namespace {

using metal::GpuLimits;
using metal::GpuSystem;
using metal::limits_of;

constexpr std::size_t kGigabyte = std::size_t{1} << 30;

GpuSystem new_mac() {
  return {.macos = {26, 0},
          .apple_family = 9,
          .max_buffer_bytes = 18 * kGigabyte,
          .heap_alignment = 16384};
}

TEST(GpuLimits, TakeWhatTheDeviceSays) {
  const GpuLimits limits = limits_of(new_mac());
  EXPECT_EQ(limits.max_buffer_bytes, 18 * kGigabyte);
  EXPECT_EQ(limits.heap_alignment, 16384u);
  GpuSystem tiny = new_mac();
  tiny.heap_alignment = 16;
  EXPECT_EQ(limits_of(tiny).heap_alignment, 64u);
}

// Nobody has reported of any that larger ones run.
TEST(GpuLimits, OfTensorsHoldForEverySystem) {
  GpuSystem system = new_mac();
  for (const metal::MacOs any : {metal::MacOs{13, 0}, {14, 4}, {26, 4}}) {
    system.macos = any;
    EXPECT_EQ(limits_of(system).max_tensor_bytes, 4 * kGigabyte - 1);
  }
}

TEST(GpuLimits, OfProductsFollowTheSystemAndTheGpu) {
  GpuSystem system = new_mac();
  EXPECT_EQ(limits_of(system).max_matmul_extent, GpuLimits{}.max_elements);
  system.apple_family = 8;
  EXPECT_EQ(limits_of(system).max_matmul_extent, 32766);
  system.apple_family = 9;
  system.macos = {14, 3};
  EXPECT_EQ(limits_of(system).max_matmul_extent, 32766);
  system.macos = {14, 4};
  EXPECT_EQ(limits_of(system).max_matmul_extent, GpuLimits{}.max_elements);
}

TEST(GpuLimits, OfRowsAndColumnsFollowTheSystem) {
  GpuSystem system = new_mac();
  for (const int family : {7, 9}) {
    system.apple_family = family;
    system.macos = {14, 3};
    EXPECT_EQ(limits_of(system).max_matmul_rows, 32768);
    system.macos = {14, 4};
    EXPECT_EQ(limits_of(system).max_matmul_rows, GpuLimits{}.max_elements);
  }
}

TEST(GpuLimits, OfConvolutionsFollowTheSystem) {
  GpuSystem system = new_mac();
  EXPECT_EQ(limits_of(system).max_convolution_extent, GpuLimits{}.max_elements);
  EXPECT_EQ(limits_of(system).max_gradient_extent, 65535);
  system.macos = {15, 0};
  EXPECT_EQ(limits_of(system).max_convolution_extent, 65536);
}

TEST(GpuLimits, OfBroadcastsFollowTheSystem) {
  GpuSystem system = new_mac();
  EXPECT_TRUE(limits_of(system).writes_broadcasts);
  system.macos = {15, 0};
  EXPECT_TRUE(limits_of(system).writes_broadcasts);
  system.macos = {14, 4};
  EXPECT_FALSE(limits_of(system).writes_broadcasts);
}

TEST(GpuLimits, OfWhatIsWrittenDownFollowTheSystem) {
  GpuSystem system = new_mac();
  // Programs that were built for an older system may be told 16.
  for (const metal::MacOs new_one : {metal::MacOs{16, 0}, {26, 0}, {27, 1}}) {
    system.macos = new_one;
    EXPECT_TRUE(limits_of(system).writes_reshapes);
    EXPECT_TRUE(limits_of(system).writes_weights);
  }
  system.macos = {15, 2};
  EXPECT_FALSE(limits_of(system).writes_reshapes);
  EXPECT_TRUE(limits_of(system).writes_weights);
  system.macos = {14, 4};
  EXPECT_FALSE(limits_of(system).writes_weights);
  EXPECT_FALSE(limits_of(system).writes_turned_bfloat16);
  system.apple_family = 10;
  EXPECT_TRUE(limits_of(system).writes_turned_bfloat16);
}

TEST(GpuLimits, OfGathersFollowTheSystem) {
  GpuSystem system = new_mac();
  EXPECT_EQ(limits_of(system).min_gather_columns, 1);
  system.macos = {15, 1};
  EXPECT_EQ(limits_of(system).min_gather_columns, 2);
}

TEST(GpuLimits, OfWorkAheadFollowTheMemory) {
  GpuSystem system = new_mac();
  EXPECT_EQ(limits_of(system).max_bytes_ahead, 18 * kGigabyte / 8);
  system.max_buffer_bytes = 4 * kGigabyte;
  EXPECT_EQ(limits_of(system).max_bytes_ahead, kGigabyte / 2);
}

TEST(GpuLimits, OfBFloat16FollowTheSystem) {
  GpuSystem system = new_mac();
  EXPECT_TRUE(limits_of(system).has_bfloat16);
  system.macos = {14, 0};
  EXPECT_TRUE(limits_of(system).has_bfloat16);
  system.macos = {13, 0};
  EXPECT_FALSE(limits_of(system).has_bfloat16);
}

TEST(GpuLimits, AreCarefulWhereNothingIsKnown) {
  const GpuLimits limits = limits_of({});
  EXPECT_EQ(limits.max_matmul_extent, GpuLimits{}.max_matmul_extent);
  EXPECT_EQ(limits.max_matmul_rows, GpuLimits{}.max_matmul_rows);
  EXPECT_EQ(limits.max_convolution_extent, GpuLimits{}.max_convolution_extent);
  EXPECT_EQ(limits.max_tensor_bytes, 4 * kGigabyte - 1);
}

TEST(GpuLimits, EstimateByTheSlowerOfTheTwo) {
  GpuLimits limits;
  limits.flops_per_second = 1e12;
  limits.bytes_per_second = 1e9;
  EXPECT_DOUBLE_EQ(limits.estimated_ms(2e9, 1e6), 2);
  EXPECT_DOUBLE_EQ(limits.estimated_ms(1e9, 5e6), 5);
}

std::string reason_of(const std::shared_ptr<DeviceContext>& gpu, OpKind op,
                      const Attributes& attrs, const std::vector<Shape>& in) {
  Program program;
  std::vector<ValueId> inputs;
  for (const Shape& shape : in) {
    inputs.push_back(program.add_value(Role::Input, {shape}, "input"));
  }
  program.append(op, attrs, inputs, "node");
  return gpu->target().reason_unsupported(program, program.node(0));
}

TEST(OtherLimits, RefuseOtherTensors) {
  const Attributes copy = ReduceAttrs{ReductionType::None, {}};
  const auto few = gpu_with([](auto& limits) { limits.max_elements = 8; });
  EXPECT_NE(reason_of(few, OpKind::Reduce, copy, {{9}}), "");
  EXPECT_EQ(reason_of(few, OpKind::Reduce, copy, {{8}}), "");
  const auto small =
      gpu_with([](auto& limits) { limits.max_tensor_bytes = 8; });
  EXPECT_NE(reason_of(small, OpKind::Reduce, copy, {{3}}), "");
  EXPECT_EQ(reason_of(small, OpKind::Reduce, copy, {{2}}), "");
}

TEST(OtherLimits, RefuseFourGigabytes) {
  const Attributes copy = ReduceAttrs{ReductionType::None, {}};
  const auto gpu = gpu_with([](auto& limits) { limits = {}; });
  EXPECT_NE(reason_of(gpu, OpKind::Reduce, copy, {{1 << 15, 1 << 15}}), "");
  EXPECT_EQ(reason_of(gpu, OpKind::Reduce, copy, {{1 << 15, 32767}}), "");
}

TEST(OtherLimits, RefuseOtherConvolutions) {
  const auto gpu = gpu_with([](auto& limits) {
    limits.max_convolution_kernel = 2;
    limits.max_convolution_channels = 3;
  });
  const auto reason = [&](const Shape& weights) {
    return reason_of(gpu, OpKind::Convolution2d, Convolution2dAttrs{},
                     {{1, weights[1], 5, 5}, weights});
  };
  EXPECT_EQ(reason({3, 2, 2, 2}), "");
  EXPECT_NE(reason({3, 2, 3, 2}), "");
  EXPECT_NE(reason({4, 2, 2, 2}), "");
}

TEST(OtherLimits, AlignOtherwise) {
  const auto gpu =
      gpu_with([](auto& limits) { limits.heap_alignment = 1 << 16; });
  EXPECT_EQ(gpu->target().alignment(), std::size_t{1} << 16);
}

TEST(OtherLimits, TileProducts) {
  const auto gpu = gpu_with([](auto& limits) { limits.max_matmul_extent = 4; });
  expect_exact(
      gpu, OpKind::MatMul, MatMulAttrs{},
      {{{3, 11}, whole_numbers(33, 7)}, {{11, 5}, whole_numbers(55, 9)}});
  expect_exact(
      gpu, OpKind::MatMul, MatMulAttrs{},
      {{{9, 2, 3}, whole_numbers(54, 7)}, {{9, 3, 2}, whole_numbers(54, 9)}});
}

TEST(OtherLimits, FoldReductions) {
  const auto gpu = gpu_with([](auto& limits) { limits.reliable_rank = 3; });
  expect_exact(gpu, OpKind::Reduce, ReduceAttrs{ReductionType::Sum, {0, 2}},
               {{{2, 3, 4, 5}, whole_numbers(120, 11)}});
}

}  // namespace
}  // namespace traingraph::testing
