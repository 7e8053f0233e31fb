// SPDX-License-Identifier: MIT
// Tensors that end the process when they are too large: those that only the
// lowering makes are refused like those that a node says.
#include <gtest/gtest.h>

#include "emulator/hardware_faults.h"
#include "metal/lowering_support.h"
#include "traingraph/error.h"

namespace traingraph::testing {
namespace {

using emulator::Imitation;

constexpr std::int64_t kMax = 1024;

std::shared_ptr<DeviceContext> gpu_of(std::size_t max_tensor_bytes) {
  return gpu_with([&](metal::GpuLimits& limits) {
    limits.max_tensor_bytes = max_tensor_bytes;
  });
}

/// Both operands have 256 bytes; both are broadcast to 64 matrices of 8
/// numbers, 2048 bytes, for a result of 256.
const std::vector<Operand> kBroadcast{{{8, 1, 1, 8}, {1, 2}},
                                      {{1, 8, 8, 1}, {3, 4}}};

TEST(HardwareSizes, InsideOfANodeAreRefused) {
  const Imitation imitation({.max_tensor_bytes = kMax});
  try {
    run_op_in(gpu_of(kMax), OpKind::MatMul, MatMulAttrs{}, kBroadcast);
    FAIL() << "nothing was refused";
  } catch (const UnsupportedError& error) {
    EXPECT_EQ(error.op(), "matmul");
    EXPECT_EQ(error.node(), "node");
    EXPECT_EQ(error.expected(), "at most 2147483647 elements and 1024 bytes");
    EXPECT_EQ(error.got(), "(64, 8, 1), 2048 bytes");
  }
}

TEST(HardwareSizes, ThatJustFitRun) {
  const Imitation imitation({.max_tensor_bytes = 2 * kMax});
  expect_exact(gpu_of(2 * kMax), OpKind::MatMul, MatMulAttrs{}, kBroadcast);
}

TEST(HardwareSizesDeathTest, EndTheProcessWhenNobodyLooks) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        const Imitation imitation({.max_tensor_bytes = kMax});
        run_op_in(gpu_of(std::size_t{1} << 32), OpKind::MatMul, MatMulAttrs{},
                  kBroadcast);
      },
      "total bytes");
}

}  // namespace
}  // namespace traingraph::testing
