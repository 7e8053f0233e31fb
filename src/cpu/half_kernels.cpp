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
    // These take parameters of any type, and gradients of float32.
    case OpKind::AdamUpdate:
    case OpKind::RmspropUpdate:
    case OpKind::SgdUpdate:
      return true;
    default:
      return false;
  }
}

}  // namespace traingraph::cpu
