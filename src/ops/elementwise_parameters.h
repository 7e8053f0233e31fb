// SPDX-License-Identifier: MIT
// The parameters a and b of activations: which of them a type uses, and what
// they may be. No type uses c.
#pragma once

#include <optional>
#include <string>

#include "traingraph/op_attrs.h"

namespace traingraph {

bool uses_a(ActivationType type);
bool uses_b(ActivationType type);

/// The defaults of ActivationDescriptor, 1 where the type does not use one.
float default_a(ActivationType type);
float default_b(ActivationType type);
/// Puts these defaults in the place of kOfType.
ActivationAttrs with_defaults(ActivationAttrs attrs);

/// `attrs` with the op's default, 0, for what its type does not use.
ActivationAttrs without_unused(ActivationAttrs attrs);

struct BadParameter {
  std::string name, expected, got, hint = {};
};

/// The first that is not a number, out of range, or given though the type does
/// not use it: then it is `unused`.
std::optional<BadParameter> find_bad_parameter(const ActivationAttrs& attrs,
                                               float unused);

}  // namespace traingraph
