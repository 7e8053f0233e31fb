// SPDX-License-Identifier: MIT
// Arithmetic on sizes: exact up to its limits, an error beyond.
#include "base/checked.h"

#include <gtest/gtest.h>

#include <limits>

#include "graph/program.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr auto kMaxBytes = static_cast<std::size_t>(kMax);

TEST(Checked, SizesAreExactUpTo63Bits) {
  EXPECT_EQ(checked_add(kMax - 1, std::int64_t{1}, "x"), kMax);
  EXPECT_EQ(checked_add(kMin, kMax, "x"), -1);
  EXPECT_EQ(checked_multiply(kMax / 3, std::int64_t{3}, "x"), kMax / 3 * 3);
  EXPECT_THROW(checked_add(kMax, std::int64_t{1}, "x"), ShapeError);
  EXPECT_THROW(checked_add(kMin, std::int64_t{-1}, "x"), ShapeError);
  EXPECT_THROW(checked_multiply(kMax, std::int64_t{2}, "x"), ShapeError);
  EXPECT_THROW(checked_multiply(kMin, std::int64_t{-1}, "x"), ShapeError);
}

TEST(Checked, BytesAreExactUpTo63Bits) {
  EXPECT_EQ(checked_add(kMaxBytes - 1, std::size_t{1}, "x"), kMaxBytes);
  EXPECT_EQ(checked_align(kMaxBytes - 63, 64, "x"), kMaxBytes - 63);
  EXPECT_EQ(checked_align(1, 64, "x"), 64u);
  EXPECT_EQ(checked_align(0, 64, "x"), 0u);
  EXPECT_EQ(checked_bytes<float>(kMax / 4, "x"), kMaxBytes / 4 * 4);
  EXPECT_THROW(checked_add(kMaxBytes, std::size_t{1}, "x"), OutOfMemoryError);
  EXPECT_THROW(checked_align(kMaxBytes, 64, "x"), OutOfMemoryError);
  EXPECT_THROW(checked_bytes<float>(kMax / 2, "x"), OutOfMemoryError);
  EXPECT_THROW(checked_bytes<float>(-1, "x"), OutOfMemoryError);
}

TEST(Checked, MessagesNameTheQuantity) {
  try {
    checked_add(kMax, std::int64_t{2}, "a padded axis");
    ADD_FAILURE();
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(),
                 "a padded axis is too large: expected a size below 2^63, got "
                 "9223372036854775807 + 2.");
  }
}

TEST(Checked, DescriptorsNeverWrap) {
  const std::int64_t large = std::int64_t{1} << 31;
  EXPECT_EQ((Shape{large, large}).num_elements(), std::int64_t{1} << 62);
  EXPECT_THROW((Shape{large, large, 2}).num_elements(), ShapeError);
  EXPECT_THROW((TensorDescriptor{{large, large}}).size_bytes(), ShapeError);
  EXPECT_THROW((TensorDescriptor{{large, -1}}).size_bytes(), ShapeError);
  EXPECT_THROW((TensorDescriptor{{1, large, large, 2}}).stride_bytes(),
               ShapeError);
  EXPECT_THROW(TensorDescriptor::convolution_weights(large, 2 * large),
               ShapeError);
}

TEST(Checked, NoValueIsLargerThanAnAddressSpace) {
  Program program;
  const std::int64_t most = std::int64_t{1} << 45;  // floats
  program.add_value(Role::Input, {{most}}, "x");
  EXPECT_THROW(program.add_value(Role::Input, {{most + 1}}, "x"), ShapeError);
  const ValueId half = program.add_value(Role::Input, {{most / 2 + 1}}, "x");
  try {
    program.append(OpKind::Concatenate, AxisAttrs{0}, {half, half}, "both");
    ADD_FAILURE();
  } catch (const ShapeError& error) {
    EXPECT_EQ(error.op(), "concatenate");
    EXPECT_EQ(error.node(), "both");
  }
  EXPECT_EQ(program.nodes().size(), 0u);
}

}  // namespace
}  // namespace traingraph
