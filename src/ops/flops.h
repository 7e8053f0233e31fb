// SPDX-License-Identifier: MIT
// OpDef::flops of ops that have no formula of their own.
#pragma once

#include "graph/program.h"

namespace traingraph::flops {

/// As a double: products of sizes go beyond 64 bits.
double elements(const Shape& shape);
double elements(const Program& program, ValueId value);

/// A few operations for each element of this op's kind.
inline constexpr double kPerElement = 4;

/// None: it only moves elements, or has none to read.
double moves(const Program&, const Node&);
/// kPerElement for each of the largest tensor that it reads, or writes first.
double per_element(const Program&, const Node&);

}  // namespace traingraph::flops
