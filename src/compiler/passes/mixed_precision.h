// SPDX-License-Identifier: MIT
// Mixed precision: decides by op and by layer what the forward phase computes
// and stores in 16 bits, before it is differentiated; the gradients follow the
// types that they find, and those of parameters end in float32, by the gradient
// of their cast.
//
//   OpDef::autocast_list  LowPrecision: floats become the 16-bit type of the
//                           graph, for the products
//                         Promote: they do when the data that it reads is so
//                         Float32: they become float32
//   Layer::compute_type, where it is set, says it instead for all of its nodes
//   but losses.
//
// Data is what depends on an input: a parameter follows the data it meets. What
// the host reads stays as it was declared: `named` values become casts, which
// only the host reads, unless their gradients mean something (`borders`).
//
// Source of the idea: Micikevicius et al., Mixed Precision Training, 2018.
#pragma once

#include <span>

#include "compiler/merged_graph.h"

namespace traingraph {

void mixed_precision(const MergedGraph& graph, std::span<const ValueId> named,
                     std::span<const ValueId> borders, Program& program);

}  // namespace traingraph
