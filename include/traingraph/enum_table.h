// SPDX-License-Identifier: MIT
// The rows of enums.inc as data: for names, bindings and documentation, and for
// tables with a row per case.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>

#include "traingraph/enums.h"

namespace traingraph {

template <class Enum>
struct EnumCase {
  Enum value;
  std::string_view name;  // "leaky_relu"; ends in '\0', as doc does
  std::string_view doc;
  int num_operands = 0;  // of operations
};

/// kName ("ActivationType"), kDoc, and kCases in the order of their numbers.
template <class Type>
struct EnumTable;

#define TRAINGRAPH_ENUM(Type, doc)               \
  template <>                                    \
  struct EnumTable<Type> {                       \
    using Enum = Type;                           \
    static constexpr const char* kName = #Type;  \
    static constexpr std::string_view kDoc{doc}; \
    static constexpr EnumCase<Enum> kCases[] = {
#define TRAINGRAPH_CASE(Case, number, name, doc) {Enum::Case, name, doc},
#define TRAINGRAPH_UNARY(Case, number, name, doc) {Enum::Case, name, doc, 1},
#define TRAINGRAPH_BINARY(Case, number, name, doc) {Enum::Case, name, doc, 2},
#define TRAINGRAPH_END_ENUM \
  }                         \
  ;                         \
  }                         \
  ;
#include "traingraph/enums.inc"

/// Returns null for a number that is no case.
template <class Enum>
constexpr const EnumCase<Enum>* find_case(Enum value) {
  const auto& cases = EnumTable<Enum>::kCases;
  const auto found = std::ranges::find(cases, value, &EnumCase<Enum>::value);
  return found == std::end(cases) ? nullptr : &*found;
}

/// Has `rows` one row per case, in order? `row.value` is the case. For
/// static_assert: a case that is added needs a row in each such table.
template <class Enum, class Rows>
constexpr bool has_all_cases(const Rows& rows) {
  return std::ranges::equal(EnumTable<Enum>::kCases, rows, {},
                            &EnumCase<Enum>::value,
                            [](const auto& row) { return row.value; });
}

}  // namespace traingraph
