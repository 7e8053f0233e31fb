// SPDX-License-Identifier: MIT
// Ops that read and write floats of 16 bits. The others compute in float32
// between casts (compiler/passes/widen.h).
#include "cpu/lowering.h"

namespace traingraph::cpu {

bool has_half_kernels(OpKind kind) {
  switch (kind) {
    case OpKind::Cast:
    case OpKind::Fill:
    // These move elements.
    case OpKind::Concatenate:
    case OpKind::Pad:
    case OpKind::Reshape:
    case OpKind::Slice:
    case OpKind::SliceGradient:
    case OpKind::Split:
    case OpKind::Transpose:
      return true;
    default:
      return false;
  }
}

}  // namespace traingraph::cpu
