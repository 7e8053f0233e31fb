// SPDX-License-Identifier: MIT
// Reverse-mode differentiation. Walks a program backwards from the seeds and
// appends gradient ops to the same program.
//
// Invariants: only nodes on a path from a wanted value to a seed get gradient
// ops; contributions to one value are added in the order in which its readers
// are visited, last reader first; a stopped value passes nothing on.
//
// Gradients end at ops that say so (OpDef::no_gradient). One without a rule on
// the path from a wanted value to a seed is an error, never a silent zero.
//
// Example: y = matmul(x, w), l = loss(y, t), wanted {w}, seed l: appends
// g = loss_gradient(1, y, t) and dw = matmul(x^T, g); x gets nothing.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/op_def.h"

namespace traingraph {

/// d loss / d value, for every value that got one.
using GradientMap = std::unordered_map<ValueId, ValueId>;

struct GradientRequest {
  /// (value, its incoming gradient); a value may occur several times.
  std::vector<std::pair<ValueId, ValueId>> seeds;
  std::vector<ValueId> wanted;
  std::unordered_set<ValueId> stopped;
};

/// Appended nodes get Phase::Gradient and the layer and name of the node they
/// differentiate. Throws UnsupportedError naming op and node when one on the
/// path has no gradient rule.
GradientMap differentiate(Program& program, const GradientRequest& request);

}  // namespace traingraph
