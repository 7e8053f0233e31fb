// SPDX-License-Identifier: MIT
#include "compiler/parameter_rules.h"

#include <unordered_map>
#include <variant>

#include "base/format.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

/// Calls use(attrs) when they are those of an update.
template <class Attrs, class Use>
void visit_update(Attrs& attributes, Use&& use) {
  std::visit(
      [&](auto& attrs) {
        if constexpr (requires { attrs.lr_scale; }) use(attrs);
      },
      attributes);
}

bool is_decoupled(const auto& attrs) {
  if constexpr (requires { attrs.decoupled_decay; }) {
    return attrs.decoupled_decay;
  } else {
    return false;
  }
}

bool has_decay(const Attributes& attributes) {
  bool has = false;
  visit_update(attributes, [&](const auto& attrs) {
    has = is_decoupled(attrs) ||
          attrs.regularization_type != RegularizationType::None;
  });
  return has;
}

}  // namespace

std::vector<ParameterRule> rules_of(const std::vector<ParameterGroup>& groups,
                                    const std::vector<Tensor>& trainable) {
  std::vector<ParameterRule> rules(trainable.size());
  if (groups.empty()) return rules;
  std::unordered_map<std::uint64_t, std::size_t> place_of;
  for (std::size_t i = 0; i < trainable.size(); ++i) {
    place_of.emplace(trainable[i].tensor_id(), i);
  }
  for (const ParameterGroup& group : groups) {
    for (const Tensor& tensor : group.parameters) {
      const auto place = place_of.find(tensor.tensor_id());
      if (place == place_of.end()) {
        throw InvalidArgument(ErrorInfo{
            .op = "set_parameter_groups",
            .node = tensor.name(),
            .what = "a group names a tensor that is not trained",
            .expected = "an updatable parameter of a layer, or one of "
                        "set_training_tensor_parameters()",
            .got = "\"" + tensor.name() + "\"",
            .hint = "Is its layer's update disabled?"});
      }
      rules[place->second] = {group.lr_scale, group.weight_decay};
    }
  }
  return rules;
}

void require_rules_fit(const MergedGraph& graph, const Attributes& attributes) {
  if (has_decay(attributes)) return;
  for (std::size_t i = 0; i < graph.rules.size(); ++i) {
    if (!graph.rules[i].weight_decay) continue;
    throw InvalidArgument(ErrorInfo{
        .op = "set_parameter_groups",
        .node = graph.tensors[graph.trainable[i]].name,
        .what = "a group sets the weight decay, and the optimizer has none",
        .expected = "AdamW, or an optimizer with a regularization_type",
        .got = "weight_decay " + format_value(*graph.rules[i].weight_decay),
        .hint = "Give the optimizer regularization_type L2 and the "
                "regularization_scale of all other parameters, 0 for none."});
  }
}

Attributes with_rule(Attributes attributes, const ParameterRule& rule) {
  visit_update(attributes, [&](auto& attrs) {
    attrs.lr_scale = rule.lr_scale;
    if (!rule.weight_decay) return;
    attrs.regularization_scale = *rule.weight_decay;
    // Nothing is added to the gradient: so the update has the bits, and the
    // speed, of one without regularization.
    if (*rule.weight_decay == 0) {
      attrs.regularization_type = RegularizationType::None;
    }
  });
  return attributes;
}

std::string describe_rules(const MergedGraph& graph) {
  std::string text;
  for (std::size_t i = 0; i < graph.rules.size(); ++i) {
    const ParameterRule& rule = graph.rules[i];
    if (rule == ParameterRule{}) continue;
    text += (text.empty() ? "" : "; ");
    text += graph.tensors[graph.trainable[i]].name;
    text += ": lr_scale " + format_value(rule.lr_scale);
    if (!rule.weight_decay) continue;
    text += ", weight_decay " + format_value(*rule.weight_decay);
  }
  return text;
}

}  // namespace traingraph
