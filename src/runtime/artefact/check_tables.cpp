// SPDX-License-Identifier: MIT
#include "runtime/artefact/check_tables.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <unordered_set>

#include "graph/op_def.h"

namespace traingraph {
namespace {

class TableCheck {
 public:
  TableCheck(const MergedGraph& graph, const std::vector<TensorEntry>& tensors)
      : graph_(graph), tensors_(tensors) {}

  void run() {
    for (const Value& value : graph_.program.values()) check_value(value);
    declared();
    for (const LayerInfo& layer : graph_.layers) check_layer(layer);
    gradients();
    trained();
    if (graph_.result != kNoValue) check_result(graph_.result);
    require(graph_.batch >= 0, "the batch size is negative");
    for (TensorIndex tensor : graph_.stopped) {
      require(graph_.find(checked(tensor)) != kNoValue,
              "a tensor where gradients stop is no value");
    }
  }

 private:
  static void require(bool ok, const std::string& what) {
    if (!ok) throw std::runtime_error(what);
  }

  TensorIndex checked(TensorIndex tensor) const {
    require(tensor >= 0 && std::cmp_less(tensor, tensors_.size()),
            "tensor " + std::to_string(tensor) + " does not exist");
    return tensor;
  }
  const Value* value_of(TensorIndex tensor) const {
    const ValueId value = graph_.find(checked(tensor));
    return value == kNoValue ? nullptr : &graph_.program.value(value);
  }

  /// The bytes of a tensor are those of its value. Shapes of parameters may be
  /// written in two ways.
  void check_value(const Value& value) const {
    if (value.tensor == kNoTensor) return;
    const TensorEntry& entry = tensors_[checked(value.tensor)];
    const bool is_result = value.role == Role::Result;
    const bool fits =
        is_result ? entry.desc == value.desc
                  : entry.desc.data_type == value.desc.data_type &&
                        entry.desc.size_bytes() == value.desc.size_bytes();
    require(fits && entry.is_result == is_result,
            "tensor \"" + entry.name + "\" is not what its value is");
  }

  void check_result(ValueId id) const {
    const bool exists =
        id >= 0 && std::cmp_less(id, graph_.program.values().size());
    require(exists && graph_.program.value(id).role == Role::Result &&
                !graph_.program.value(id).is_opaque,
            "the result is none of a node");
  }

  void declared() const {
    std::unordered_set<std::string_view> names;
    std::unordered_set<TensorIndex> seen;
    for (const auto* list :
         {&graph_.inputs, &graph_.labels, &graph_.label_weights}) {
      for (const auto& [name, tensor] : *list) {
        const bool is_new =
            names.insert(name).second && seen.insert(tensor).second;
        require(is_new, "\"" + name + "\" is declared twice");
        require(!tensors_[checked(tensor)].is_result,
                "\"" + name + "\" is the result of a node");
      }
    }
    for (const auto& [name, tensor] : graph_.outputs) {
      const Value* const value = value_of(tensor);
      require(value && !value->is_opaque,
              "output \"" + name + "\" is no value");
    }
    for (const Value& value : graph_.program.values()) {
      if (value.role != Role::Input || value.tensor == kNoTensor) continue;
      require(seen.contains(value.tensor),
              "\"" + value.name + "\" is an input that is not declared");
    }
  }

  void check_layer(const LayerInfo& layer) const {
    for (const auto* list :
         {&layer.sources, &layer.results, &layer.parameters}) {
      for (TensorIndex tensor : *list) checked(tensor);
    }
    if (!layer.is_loss || layer.results.empty()) return;
    const Value* const loss = value_of(layer.results.front());
    require(
        loss && loss->role == Role::Result && is_float(loss->desc.data_type),
        "loss \"" + layer.name + "\" is no result");
  }

  void gradients() const {
    std::unordered_set<TensorIndex> seen;
    for (const auto& [of, gradient, is_boundary] : graph_.user_gradients) {
      const Value* const value = value_of(of);
      require(value && value->role == Role::Result && !value->is_opaque,
              "a gradient is of no result");
      const TensorEntry& entry = tensors_[checked(gradient)];
      require(!value_of(gradient) && entry.desc == value->desc &&
                  seen.insert(gradient).second && seen.insert(of).second,
              "a gradient is not one of its tensor");
    }
    for (const auto& [of, gradient] : graph_.given_gradients) {
      const Value* const parameter = value_of(of);
      const Value* const value = value_of(gradient);
      require(parameter && parameter->role == Role::Variable && value &&
                  value->role == Role::Result && !value->is_opaque &&
                  tensors_[of].desc == tensors_[gradient].desc &&
                  seen.insert(of).second,
              "a gradient is not one of its parameter");
    }
  }

  void trained() const {
    std::unordered_set<TensorIndex> seen;
    for (TensorIndex tensor : graph_.trainable) {
      const Value* const value = value_of(tensor);
      require((!value || value->role == Role::Variable) &&
                  is_float(tensors_[tensor].desc.data_type) &&
                  !tensors_[tensor].is_result && seen.insert(tensor).second,
              "tensor \"" + tensors_[tensor].name + "\" is no parameter");
    }
    const auto is_scale = [](float x) { return std::isfinite(x) && x >= 0; };
    require(graph_.rules.size() <= graph_.trainable.size() &&
                std::ranges::all_of(graph_.rules,
                                    [&](const ParameterRule& rule) {
                                      return is_scale(rule.lr_scale) &&
                                             is_scale(
                                                 rule.weight_decay.value_or(0));
                                    }),
            "a group of parameters is not one of the optimizer");
  }

  const MergedGraph& graph_;
  const std::vector<TensorEntry>& tensors_;
};

}  // namespace

void check_tables(const MergedGraph& graph,
                  const std::vector<TensorEntry>& tensors) {
  TableCheck(graph, tensors).run();
}

}  // namespace traingraph
