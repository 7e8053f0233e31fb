// SPDX-License-Identifier: MIT
// The library's own optimizers, to be made again from what is stored of them.
#pragma once

#include <span>
#include <string>
#include <typeinfo>

#include "traingraph/optimizers.h"

namespace traingraph {

struct OptimizerKind {
  std::string name;
  const std::type_info& type;
  Attributes default_attributes;
  OptimizerPtr (*make)(const OptimizerDescriptor&, const Attributes&);
};

std::span<const OptimizerKind> optimizer_kinds();

}  // namespace traingraph
