// SPDX-License-Identifier: MIT
// NameIndex: the tensors of a compiled graph by their labels, which may change
// at any time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/merge.h"

namespace traingraph {

class NameIndex {
 public:
  /// Finds, of the first `count` of `tensors`, those that have this label now,
  /// in order. The table is made anew when a label, or the graph, has changed.
  const std::vector<TensorIndex>& find(const std::vector<Tensor>& tensors,
                                       TensorIndex count,
                                       const std::string& name);
  /// The graph is compiled again.
  void forget() { label_changes_.reset(); }

 private:
  std::unordered_map<std::string, std::vector<TensorIndex>> tensors_of_;
  std::optional<std::uint64_t> label_changes_;  // empty: there is no table
};

}  // namespace traingraph
