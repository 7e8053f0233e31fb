// SPDX-License-Identifier: MIT
// One visitor over the fields of any attribute struct; printing is built on
// it, and so are Python keywords and docs.
#pragma once

#include <string>
#include <tuple>
#include <variant>

#include "traingraph/op_attrs.h"

namespace traingraph {

/// Calls visit(name, member) for every field of a struct with fields().
template <class Struct, class Visit>
void for_each_field_of(Struct& attrs, Visit&& visit) {
  std::apply(
      [&](const auto&... field) {
        (visit(field.name, attrs.*(field.member)), ...);
      },
      attrs.fields());
}

/// Visits whichever struct `attrs` holds. `visit` must take every member type:
/// bool, int64, float, Shape, Pair, Padding and the enums.
template <class Visit>
void for_each_field(const Attributes& attrs, Visit&& visit) {
  std::visit([&](const auto& held) { for_each_field_of(held, visit); }, attrs);
}
template <class Visit>
void for_each_field(Attributes& attrs, Visit&& visit) {
  std::visit([&](auto& held) { for_each_field_of(held, visit); }, attrs);
}

/// "{alpha=1, transposes_x=false, transposes_y=true}"; empty without fields.
std::string to_string(const Attributes& attrs);

/// Fields that name axes of a tensor of this rank, counted from the front: -1
/// is the last one. What is no axis stays as it is.
void count_axes_from_front(Attributes& attrs, int rank);

}  // namespace traingraph
