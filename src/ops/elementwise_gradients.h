// SPDX-License-Identifier: MIT
// Gradient rules of the unary and binary arithmetic ops.
#pragma once

#include "graph/op_def.h"

namespace traingraph {

void unary_gradient(GradContext& ctx);
void binary_gradient(GradContext& ctx);

}  // namespace traingraph
