// SPDX-License-Identifier: MIT
// Two recurrent ops that are the directions of one: plain C++, tested
// everywhere.
#pragma once

#include <optional>
#include <vector>

#include "graph/program.h"

namespace traingraph::metal {

struct RnnPair {
  NodeId forward = -1;
  /// The value that the inputs of both are the halves of, for each input;
  /// kNoValue when there is no such value, or when the inputs are absent.
  std::vector<ValueId> whole;
};

/// The node of the other direction for one from the last step to the first: of
/// the same op and options, of the same phase, in front of it, and with the
/// other half of the same recurrent weights, which are input `weights`.
std::optional<RnnPair> find_rnn_pair(const Program& program, NodeId reverse,
                                     int weights);

}  // namespace traingraph::metal
