// SPDX-License-Identifier: MIT
// The rows that reports, profiles and layer times have, and which node of a
// plan belongs to which.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/merged_graph.h"

namespace traingraph {

/// One row for each name of nodes of the graph, in the order in which they were
/// declared: layers, and ops by their names, or without one by their kind; a
/// layer with the name of an op before it shares that one's. What compile()
/// adds belongs to the layer or op that it was added for: updates of a
/// parameter to the first that reads it. What is for all together, as a norm of
/// all gradients, has rows of its own behind.
class ReportRows {
 public:
  ReportRows(const MergedGraph& graph, const Program& program);

  const std::vector<std::string>& names() const { return names_; }
  /// Returns the row of a node of the program.
  int of(NodeId node) const { return row_of_[node]; }
  /// Returns the row of the first node that reads the tensor; -1: none does.
  int reader_of(TensorIndex tensor) const { return reader_of_[tensor]; }

 private:
  int named(const std::string& name);

  std::vector<std::string> names_;
  std::unordered_map<std::string, int> row_named_;
  std::vector<int> reader_of_;  // by tensor
  std::vector<int> row_of_;     // by node
};

}  // namespace traingraph
