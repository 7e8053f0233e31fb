// SPDX-License-Identifier: MIT
// A walk over a program that changes the types of floats, by casts before and
// after the nodes that it visits.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "graph/op_def.h"

namespace traingraph {

class Retype {
 public:
  explicit Retype(Program& program) : program_(program) {}

  /// Visits all nodes in order, then puts the casts where they belong.
  void run(const std::function<void(NodeId)>& visit);

  NodeId visited() const { return visited_; }
  /// `value` as `type`, for the node that is visited: itself, or a cast.
  ValueId cast(ValueId value, DataType type);
  /// Result `value` of the node that is visited becomes a cast to `type` of
  /// what the node computes, which is returned.
  ///   before: v = op(x)    after: c = op(x), v = cast(c)
  ValueId store_as(ValueId value, DataType type);

 private:
  ValueId append_cast(ValueId value, DataType type);

  Program& program_;
  NodeId visited_ = -1;
  std::vector<NodeId> before_, after_;  // casts of the node that is visited
};

}  // namespace traingraph
