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

#define TRAINGRAPH_FIELDS(Struct, ...)            \
  bool operator==(const Struct&) const = default; \
  static constexpr auto fields() {                \
    using Self = Struct;                          \
    return std::tuple{__VA_ARGS__};               \
  }
#define TRAINGRAPH_FIELD(member) \
  Field { #member, &Self::member }

}  // namespace traingraph
