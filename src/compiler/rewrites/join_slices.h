// SPDX-License-Identifier: MIT
// Slices that cut an axis into parts, all of it, become one split, whose
// gradient is one concatenation: that of slices is a sum of tensors that are
// mostly zeros.
//
//   before: a = x[:, :4]; b = x[:, 4:]
//   after:  a, b = split(x)
#pragma once

#include <functional>
#include <vector>

#include "graph/program.h"
#include "traingraph/rewrite.h"

namespace traingraph {

/// `may_change` says which nodes. Returns what happened.
std::vector<Rewrite> join_slices(
    Program& program, const std::function<bool(const Node&)>& may_change);

}  // namespace traingraph
