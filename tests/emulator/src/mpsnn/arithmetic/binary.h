// SPDX-License-Identifier: MIT
// Arithmetic of two pictures, one of which may be broadcast.
#pragma once

#include <limits>

#include "mpsnn/filter_kernel.h"

namespace emulator::mpsnn {

enum class BinaryOp { kAdd, kSubtract, kMultiply, kDivide, kCompare };

/// The order is that of MPSNNComparisonType.
enum class Comparison {
  kEqual,
  kNotEqual,
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
};

/// How far an operand moves per element of the result: one, or zero where its
/// first element stands for all.
struct Strides {
  std::int64_t x = 1, y = 1, channels = 1;
  bool operator==(const Strides&) const = default;
};

struct Binary {
  BinaryOp op = BinaryOp::kAdd;
  Comparison comparison = Comparison::kEqual;
  double primary_scale = 1, secondary_scale = 1, bias = 0;
  double minimum = -std::numeric_limits<float>::max();
  double maximum = std::numeric_limits<float>::max();
  Strides primary, secondary;
};

/// Nothing when the operands do not fit each other.
std::optional<Extent> binary_extent(const Binary& binary, const Extent& primary,
                                    const Extent& secondary);

Picture apply_binary(const Binary& binary, const Picture& primary,
                     const Picture& secondary);

/// Gradient of one operand: scale * g, for products times other_scale and the
/// other operand; summed where the operand was broadcast. Neither bias nor
/// bounds take part.
struct BinaryGradient {
  bool is_product = false;
  double scale = 1, other_scale = 1;
  Strides own, other;
};
Picture binary_gradient(const BinaryGradient& rule, const Picture& gradient,
                        const Picture& other, const Extent& operand);

}  // namespace emulator::mpsnn
