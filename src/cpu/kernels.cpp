// SPDX-License-Identifier: MIT
// The kernel table: one row per op, in the order of OpKind.
#include <array>

#include "cpu/lowering.h"

namespace traingraph::cpu {

LowerFunction lower_function(OpKind kind) {
  static constexpr std::array<LowerFunction, kNumOps> kTable = {
#define OP(Kind, name, Attrs) &lower_##name,
#include "traingraph/ops.inc"
#undef OP
  };
  return kTable[static_cast<std::size_t>(kind)];
}

}  // namespace traingraph::cpu
