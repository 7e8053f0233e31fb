// SPDX-License-Identifier: MIT
// What element-wise nodes compute, as expressions over the formulas of
// src/formulas.
#pragma once

#include <string>
#include <vector>

#include "lowering/unit_builder.h"
#include "traingraph/op_attrs.h"

namespace traingraph::cuda {

/// Has the node such an expression?
bool is_elementwise(OpKind kind);
/// The value of the node's result, of its own type, from the names of its
/// operands, which are of theirs.
std::string elementwise_text(UnitBuilder& unit,
                             const std::vector<std::string>& operands);

/// An activation, a struct with value() and slope(): "functions::Relu{...}".
std::string activation_text(const ActivationAttrs& attrs);

}  // namespace traingraph::cuda
