// SPDX-License-Identifier: MIT
// OpKind -> lowering function, expanded from the op table.
#import "metal/graph_builder.h"

namespace traingraph::metal {

LowerFunction lower_function(OpKind kind) {
  static constexpr LowerFunction kTable[] = {
#define OP(Kind, name, Attrs) lower_##name,
#include "traingraph/ops.inc"
#undef OP
  };
  return kTable[static_cast<int>(kind)];
}

}  // namespace traingraph::metal
