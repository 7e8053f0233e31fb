// SPDX-License-Identifier: MIT
// Which options a loss uses, by its type.
#pragma once

#include <optional>
#include <string>

#include "traingraph/op_attrs.h"

namespace traingraph {

/// `attrs` with the default of what losses of its type do not use.
LossAttrs without_unused(LossAttrs attrs);

struct UnusedOption {
  std::string name, expected, got;
};

/// The first option that is not what without_unused() makes it.
std::optional<UnusedOption> find_unused_option(const LossAttrs& attrs);

}  // namespace traingraph
