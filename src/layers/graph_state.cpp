// SPDX-License-Identifier: MIT
#include "layers/graph_state.h"

#include <utility>

#include "graph/tensor_state.h"

namespace traingraph {

ValueId GraphState::value(const Tensor& tensor, Role role_when_new) {
  const auto found = value_of.find(tensor.tensor_id());
  if (found == value_of.end()) {
    const ValueId id = program.add_value(role_when_new, tensor.descriptor(),
                                         tensor.label(), tensor.state());
    value_of.emplace(tensor.tensor_id(), id);
    return id;
  }
  Value& value = program.value(found->second);
  if (role_when_new == Role::Variable && value.role == Role::Input) {
    promoted.push_back(found->second);
    value.role = Role::Variable;
  }
  return found->second;
}

std::string GraphState::free_result_label(const std::string& name) const {
  std::string label = name;
  for (int number = 2; labels.contains(label); ++number) {
    label = name + ":" + std::to_string(number);
  }
  return label;
}

Tensor GraphState::result_tensor(ValueId id, const std::string& name) {
  std::string label = free_result_label(name);
  labels.insert(label);
  Value& value = program.value(id);
  // An opaque value has no shape, so this does not check it.
  Tensor tensor = value.is_opaque
                      ? Tensor(TensorDescriptor{.shape = {1}}, label)
                      : Tensor(value.desc, label);
  tensor.state()->is_result = true;
  value.name = std::move(label);
  if (!value.is_opaque) value.tensor = tensor.state();
  value_of.emplace(tensor.tensor_id(), id);
  return tensor;
}

GraphState::Checkpoint GraphState::checkpoint() const {
  return {.num_values = program.values().size(),
          .num_nodes = program.nodes().size(),
          .num_promoted = promoted.size(),
          .random_state = random_state,
          .num_random_streams = num_random_streams};
}

void GraphState::restore(const Checkpoint& checkpoint) {
  while (promoted.size() > checkpoint.num_promoted) {
    program.value(promoted.back()).role = Role::Input;
    promoted.pop_back();
  }
  const auto num_values = static_cast<ValueId>(checkpoint.num_values);
  std::erase_if(value_of,
                [&](const auto& entry) { return entry.second >= num_values; });
  program.truncate(checkpoint.num_values, checkpoint.num_nodes);
  random_state = checkpoint.random_state;
  num_random_streams = checkpoint.num_random_streams;
}

}  // namespace traingraph
