// SPDX-License-Identifier: MIT
// Parameter groups as what an optimizer does differently for each parameter.
#pragma once

#include <vector>

#include "compiler/declaration.h"
#include "compiler/merged_graph.h"
#include "traingraph/op_attrs.h"

namespace traingraph {

/// Returns the rules by place in `trainable`. Throws InvalidArgument when a
/// group names what the optimizer does not train.
std::vector<ParameterRule> rules_of(const std::vector<ParameterGroup>& groups,
                                    const std::vector<Tensor>& trainable);

/// Throws InvalidArgument when a rule sets a decay that the update, of
/// `attributes`, does not have.
void require_rules_fit(const MergedGraph& graph, const Attributes& attributes);

/// Applies a rule to the attributes of one parameter's update.
Attributes with_rule(Attributes attributes, const ParameterRule& rule);

/// Formats rules as "fc.weights: lr_scale 0.1, weight_decay 0; ..."; empty
/// without groups.
std::string describe_rules(const MergedGraph& graph);

}  // namespace traingraph
