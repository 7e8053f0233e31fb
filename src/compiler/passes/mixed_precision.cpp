// SPDX-License-Identifier: MIT
#include "compiler/passes/mixed_precision.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "compiler/passes/retype.h"

namespace traingraph {
namespace {

bool has_layer_types(const MergedGraph& graph) {
  return std::ranges::any_of(graph.layers, [](const LayerInfo& layer) {
    return layer.compute_type.has_value();
  });
}

/// Returns none where products stay what they are.
std::optional<DataType> product_type(Precision precision) {
  if (precision == Precision::MixedBFloat16) return DataType::BFloat16;
  if (precision == Precision::MixedFloat16) return DataType::Float16;
  return {};
}

bool takes_any_float(const InputDef& def) {
  return (def.types & kFloat) == kFloat;
}

/// Vectors by value hold those that were there before the pass: what a node
/// reads until it is visited.
class MixedPrecision {
 public:
  MixedPrecision(const MergedGraph& graph, std::span<const ValueId> named,
                 std::span<const ValueId> borders, Program& program)
      : graph_(graph),
        program_(program),
        retype_(program),
        is_data_(program.values().size(), false),
        is_named_(is_data_),
        is_border_(is_data_) {
    for (ValueId value : named) is_named_[value] = true;
    for (ValueId value : borders) is_border_[value] = true;
    for (const Value& value : program.values()) {
      type_of_.push_back(value.desc.data_type);
      instead_.push_back(static_cast<ValueId>(instead_.size()));
      is_data_[instead_.back()] = value.role == Role::Input;
    }
  }

  void run() {
    retype_.run([this](NodeId id) { visit(id); });
  }

 private:
  void visit(NodeId id) {
    const std::optional<DataType> type = type_for(program_.node(id));
    std::vector<ValueId> inputs = program_.node(id).inputs;
    bool sees_data = false;
    for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
      if (inputs[i] == kNoValue) continue;
      sees_data = sees_data || is_data_[inputs[i]];
      inputs[i] = converted(program_.node(id), i, instead_[inputs[i]], type);
    }
    program_.set_inputs(id, std::move(inputs));
    for (ValueId value : std::vector(program_.node(id).outputs)) {
      is_data_[value] = sees_data;
      const DataType declared = type_of_[value];
      type_of_[value] = program_.desc(value).data_type;
      if (is_named_[value] && type_of_[value] != declared) {
        keep(value, declared);
      }
    }
  }

  /// Returns the type that the floats of a node's inputs become; none: they
  /// stay.
  std::optional<DataType> type_for(const Node& node) const {
    if (node.op->autocast_list == AutocastList::Float32)
      return DataType::Float32;
    if (node.layer >= 0) {
      const LayerInfo& layer = graph_.layers[node.layer];
      if (layer.is_loss) return DataType::Float32;
      if (layer.compute_type) return layer.compute_type;
    }
    const auto product = product_type(graph_.precision);
    const bool narrows =
        node.op->autocast_list == AutocastList::LowPrecision && product;
    return narrows ? product : type_of_data(node);
  }

  /// The 16-bit type of the data that a node reads; float32 for several.
  std::optional<DataType> type_of_data(const Node& node) const {
    std::optional<DataType> type;
    for (ValueId value : node.inputs) {
      if (value == kNoValue || !is_data_[value]) continue;
      if (!is_half(type_of_[value])) continue;
      if (type && type != type_of_[value]) return DataType::Float32;
      type = type_of_[value];
    }
    return type;
  }

  ValueId converted(const Node& node, int i, ValueId value,
                    std::optional<DataType> type) {
    const InputDef& def = input_def(*node.op, i);
    const Value& source = program_.value(value);
    if (source.is_opaque || def.is_mutated ||
        !is_float(source.desc.data_type)) {
      return value;
    }
    if (takes_any_float(def)) return type ? cast(value, *type) : value;
    return cast(value, DataType::Float32);
  }

  /// All nodes of a phase share one cast.
  ValueId cast(ValueId value, DataType type) {
    if (program_.desc(value).data_type == type) return value;
    const Phase phase = program_.node(retype_.visited()).phase;
    ValueId& cast =
        casts_.try_emplace({value, type, phase}, kNoValue).first->second;
    if (cast == kNoValue) cast = retype_.cast(value, type);
    return cast;
  }

  void keep(ValueId value, DataType declared) {
    const ValueId computed = retype_.store_as(value, declared);
    if (!is_border_[value]) instead_[value] = computed;
  }

  const MergedGraph& graph_;
  Program& program_;
  Retype retype_;
  std::vector<bool> is_data_, is_named_, is_border_;
  std::vector<DataType> type_of_;  // that it is computed in
  std::vector<ValueId> instead_;   // what nodes read for a value
  std::map<std::tuple<ValueId, DataType, Phase>, ValueId> casts_;
};

}  // namespace

void mixed_precision(const MergedGraph& graph, std::span<const ValueId> named,
                     std::span<const ValueId> borders, Program& program) {
  if (!product_type(graph.precision) && !has_layer_types(graph)) return;
  MixedPrecision(graph, named, borders, program).run();
}

}  // namespace traingraph
