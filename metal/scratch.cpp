// SPDX-License-Identifier: MIT
#include "metal/scratch.h"

#include <algorithm>
#include <unordered_map>

namespace traingraph::metal {

std::size_t scratch_bytes(const Program& program, const GpuUnit& unit) {
  std::unordered_map<ValueId, NodeId> last_use;
  for (NodeId id : unit.nodes) {
    for (ValueId value : program.node(id).outputs) last_use[value] = id;
  }
  for (NodeId id : unit.nodes) {
    for (ValueId value : program.node(id).inputs) {
      const auto found = last_use.find(value);
      if (found != last_use.end()) found->second = std::max(found->second, id);
    }
  }
  for (ValueId value : unit.targets) last_use.erase(value);

  std::unordered_map<NodeId, std::size_t> ending;
  std::size_t live = 0, most = 0;
  for (NodeId id : unit.nodes) {
    for (ValueId value : program.node(id).outputs) {
      const auto found = last_use.find(value);
      if (found == last_use.end() || program.value(value).is_opaque) continue;
      const std::size_t bytes = program.desc(value).size_bytes();
      live += bytes;
      ending[found->second] += bytes;
    }
    most = std::max(most, live);
    live -= ending[id];
  }
  return most;
}

}  // namespace traingraph::metal
