// SPDX-License-Identifier: MIT
// NameIndex: the tensors of a compiled graph by their names, which may change
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
  /// Finds, of the first `count` of `tensors`, those that have this name now,
  /// in order. The table is made anew when a name, or the graph, has changed.
  const std::vector<TensorIndex>& find(const std::vector<Tensor>& tensors,
                                       TensorIndex count,
                                       const std::string& name);
  /// The graph is compiled again.
  void forget() { name_changes_.reset(); }

 private:
  std::unordered_map<std::string, std::vector<TensorIndex>> tensors_of_;
  std::optional<std::uint64_t> name_changes_;  // empty: there is no table
};

}  // namespace traingraph
