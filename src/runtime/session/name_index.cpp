// SPDX-License-Identifier: MIT
#include "runtime/session/name_index.h"

#include "graph/name_changes.h"

namespace traingraph {

const std::vector<TensorIndex>& NameIndex::find(
    const std::vector<Tensor>& tensors, TensorIndex count,
    const std::string& name) {
  static const std::vector<TensorIndex> none;
  const std::uint64_t changes = g_name_changes;
  if (name_changes_ != changes) {
    tensors_of_.clear();
    for (TensorIndex i = 0; i < count; ++i) {
      tensors_of_[tensors[i].name()].push_back(i);
    }
    name_changes_ = changes;
  }
  const auto found = tensors_of_.find(name);
  return found == tensors_of_.end() ? none : found->second;
}

}  // namespace traingraph
