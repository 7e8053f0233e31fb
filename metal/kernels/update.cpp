// SPDX-License-Identifier: MIT
#include "metal/kernels/update.h"

#include "traingraph/error.h"

namespace traingraph::metal {

Kernel update_kernel(OpKind op) {
  switch (op) {
    case OpKind::AccumulateGradient:
      return Kernel::AccumulateGradient;
#define UPDATE(Op, name, Step) \
  case OpKind::Op:             \
    return Kernel::Op;
      TRAINGRAPH_UPDATES(UPDATE)
#undef UPDATE
    default:
      throw InternalError("no kernel for this update");
  }
}

}  // namespace traingraph::metal
