// SPDX-License-Identifier: MIT
// The enumerations of the public API, made of the table in enums.inc.
#pragma once

#include <cstdint>
#include <string_view>

#include "traingraph/export.h"

namespace traingraph {

// NOLINTBEGIN(bugprone-macro-parentheses): names of types and cases
#define TRAINGRAPH_ENUM(Type, doc) enum class Type : std::int32_t {
#define TRAINGRAPH_CASE(Case, number, name, doc) Case = number,
// NOLINTEND(bugprone-macro-parentheses)
#define TRAINGRAPH_END_ENUM \
  }                         \
  ;
#include "traingraph/enums.inc"

/// Lower-case name of a case: "leaky_relu", "by_global_norm"; for any enum of
/// enums.inc. "?" for a number that is no case.
#define TRAINGRAPH_ENUM(Type, doc) \
  TRAINGRAPH_API std::string_view to_string(Type value);
#define TRAINGRAPH_CASE(Case, number, name, doc)
#define TRAINGRAPH_END_ENUM
#include "traingraph/enums.inc"

/// Tells the operations that take one operand from those that take two.
TRAINGRAPH_API bool is_unary(ArithmeticOperation operation);

}  // namespace traingraph
