// SPDX-License-Identifier: MIT
#include "compiler/passes/find_boundary.h"

#include <algorithm>

namespace traingraph {

void find_boundary(const MergedGraph& graph, Assembled& a) {
  const std::size_t num_values = a.program.values().size();
  std::vector<bool> is_read(num_values, false);
  std::vector<bool> takes_gradient(num_values, false);
  for (const Node& node : a.program.nodes()) {
    for (ValueId v : node.inputs) {
      if (v != kNoValue) is_read[v] = true;
    }
  }
  for (const auto& user : graph.user_gradients) {
    if (const ValueId v = a.find(user.of); v != kNoValue) {
      takes_gradient[v] = true;
    }
  }
  for (ValueId value : a.value_of) {
    if (value == kNoValue) continue;
    const Value& of = a.program.value(value);
    const bool is_result = of.role == Role::Result && !of.is_opaque;
    if (is_result && (!is_read[value] || takes_gradient[value])) {
      a.boundary.push_back(value);
    }
  }
  // Several tensors may be one value.
  std::ranges::sort(a.boundary);
  const auto rest = std::ranges::unique(a.boundary);
  a.boundary.erase(rest.begin(), rest.end());
}

}  // namespace traingraph
