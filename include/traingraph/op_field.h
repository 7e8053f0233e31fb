// SPDX-License-Identifier: MIT
// What the structs of op attributes are described with.
#pragma once

#include <tuple>

namespace traingraph {

/// Name and member pointer of one attribute.
template <class Struct, class Member>
struct Field {
  const char* name;
  Member Struct::* member;
};
// Compilers before clang 17 do not deduce the arguments of aggregates.
template <class Struct, class Member>
Field(const char*, Member Struct::*) -> Field<Struct, Member>;

#define TRAINGRAPH_FIELDS(Struct, ...)            \
  bool operator==(const Struct&) const = default; \
  static constexpr auto fields() {                \
    using Self = Struct;                          \
    return std::tuple{__VA_ARGS__};               \
  }
#define TRAINGRAPH_FIELD(member) \
  Field { #member, &Self::member }

}  // namespace traingraph
