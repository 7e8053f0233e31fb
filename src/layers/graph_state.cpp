// SPDX-License-Identifier: MIT
#include "layers/graph_state.h"

#include <unordered_set>
#include <utility>

#include "graph/tensor_state.h"

namespace traingraph {

void GraphState::add_record(LayerRecord record) {
  std::vector<int>& indices = records_of[record.layer.get()];
  indices.push_back(static_cast<int>(records.size()));
  records.push_back(std::move(record));
}

std::vector<LayerPtr> GraphState::layers() const {
  std::vector<LayerPtr> result;
  std::unordered_set<const Layer*> seen;
  for (const LayerRecord& record : records) {
    if (seen.insert(record.layer.get()).second) result.push_back(record.layer);
  }
  return result;
}

std::vector<LayerRecord*> GraphState::records_with(const Layer& layer) {
  std::vector<LayerRecord*> result;
  const auto indices = records_of.find(&layer);
  if (indices == records_of.end()) return result;
  for (const int i : indices->second) result.push_back(&records[i]);
  return result;
}

ValueId GraphState::value(const Tensor& tensor, Role role_when_new) {
  const auto found = value_of.find(tensor.tensor_id());
  if (found == value_of.end()) {
    const ValueId id =
        program.add_value(role_when_new, tensor.descriptor(), tensor.name());
    name_value(id, tensor);
    return id;
  }
  Value& value = program.value(found->second);
  if (role_when_new == Role::Variable && value.role == Role::Input) {
    promoted.push_back(found->second);
    value.role = Role::Variable;
  }
  return found->second;
}

ValueId GraphState::supplied_random_state() {
  if (random_state == kNoValue) {
    random_state = program.add_value(
        Role::Input, {.shape = {4}, .data_type = DataType::Int32},
        "random_state");
  }
  return random_state;
}

void GraphState::name_value(ValueId value, const Tensor& tensor) {
  program.value(value).tensor = static_cast<TensorIndex>(tensors.size());
  tensors.push_back(tensor);
  value_of.emplace(tensor.tensor_id(), value);
}

std::string GraphState::free_result_name(const std::string& base) {
  std::string name = base;
  if (!result_names.contains(name)) return name;
  // Names stay, so numbers that are taken once are taken for good.
  int& number = free_number.try_emplace(base, 2).first->second;
  for (;; ++number) {
    name = base + ":" + std::to_string(number);
    if (!result_names.contains(name)) return name;
  }
}

Tensor GraphState::result_tensor(ValueId id, const std::string& base) {
  std::string name = free_result_name(base);
  result_names.insert(name);
  Value& value = program.value(id);
  // An opaque value has no shape, so this does not check it.
  Tensor tensor = value.is_opaque ? Tensor(TensorDescriptor{.shape = {1}}, name)
                                  : Tensor(value.desc, name);
  tensor.state()->is_result = true;
  tensor.state()->graph = weak_from_this();
  value.name = std::move(name);
  name_value(id, tensor);
  return tensor;
}

GraphState::Checkpoint GraphState::checkpoint() const {
  return {.num_values = program.values().size(),
          .num_nodes = program.nodes().size(),
          .num_tensors = tensors.size(),
          .num_promoted = promoted.size(),
          .random_state = random_state,
          .num_random_streams = num_random_streams};
}

void GraphState::restore(const Checkpoint& checkpoint) {
  while (promoted.size() > checkpoint.num_promoted) {
    program.value(promoted.back()).role = Role::Input;
    promoted.pop_back();
  }
  while (tensors.size() > checkpoint.num_tensors) {
    const auto found = value_of.find(tensors.back().tensor_id());
    const Value& value = program.value(found->second);
    if (value.role == Role::Result) result_names.erase(value.name);
    value_of.erase(found);
    tensors.pop_back();
  }
  program.truncate(checkpoint.num_values, checkpoint.num_nodes);
  random_state = checkpoint.random_state;
  num_random_streams = checkpoint.num_random_streams;
}

}  // namespace traingraph
