// SPDX-License-Identifier: MIT
// Networks that others wrote say in many ops what one op says: attention as two
// products with a softmax between them, a normalization by its formula, a
// transpose of a weight before each product. This finds such ops before
// gradients are appended, so that these are the gradients of the one op.
// compiler/rewrites/rules.h shows each rewrite, before and after.
#pragma once

#include <span>
#include <vector>

#include "compiler/assemble.h"

namespace traingraph {

/// Results in `named`, which may contain kNoValue, stay. Layers that compute in
/// a type of their own stay as they are. Fills in Assembled::rewrites.
void recognize_layers(const MergedGraph& graph, std::span<const ValueId> named,
                      Assembled& assembled);

}  // namespace traingraph
