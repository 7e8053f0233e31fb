// SPDX-License-Identifier: MIT
// Names of the public enumerations, and what must hold for all rows of their
// table.
#include "traingraph/enums.h"

#include "traingraph/enum_table.h"

namespace traingraph {
namespace {

constexpr bool is_lower_case(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  });
}

template <class Enum>
constexpr bool is_sound() {
  const auto& cases = EnumTable<Enum>::kCases;
  for (std::size_t i = 0; i < std::size(cases); ++i) {
    if (!is_lower_case(cases[i].name) || cases[i].doc.empty()) return false;
    if (i > 0 && cases[i - 1].value >= cases[i].value) return false;
    for (std::size_t k = 0; k < i; ++k) {
      if (cases[k].name == cases[i].name) return false;
    }
  }
  return !EnumTable<Enum>::kDoc.empty();
}

#define TRAINGRAPH_ENUM(Type, doc)      \
  static_assert(is_sound<Type>(), #Type \
                ": numbers rise, "      \
                "names differ and are snake_case, all is documented");
#define TRAINGRAPH_CASE(Case, number, name, doc)
#define TRAINGRAPH_END_ENUM
#include "traingraph/enums.inc"

// Numbers are part of the interface: they are ML Compute's.
static_assert(std::size(EnumTable<ActivationType>::kCases) == 24);
static_assert(std::size(EnumTable<ArithmeticOperation>::kCases) == 31);
static_assert(std::size(EnumTable<ComparisonOperation>::kCases) == 12);
static_assert(std::size(EnumTable<LossType>::kCases) == 10);
static_assert(std::size(EnumTable<ReductionType>::kCases) == 10);
static_assert(static_cast<int>(ArithmeticOperation::Max) == 29);
static_assert(static_cast<int>(ActivationType::Clamp) == 20);

template <class Enum>
std::string_view name_of(Enum value) {
  const EnumCase<Enum>* const found = find_case(value);
  return found ? found->name : "?";
}

}  // namespace

#define TRAINGRAPH_ENUM(Type, doc) \
  std::string_view to_string(Type value) { return name_of(value); }
#define TRAINGRAPH_CASE(Case, number, name, doc)
#define TRAINGRAPH_END_ENUM
#include "traingraph/enums.inc"

bool is_unary(ArithmeticOperation operation) {
  const auto* const found = find_case(operation);
  return found && found->num_operands == 1;
}

}  // namespace traingraph
