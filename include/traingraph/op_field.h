// SPDX-License-Identifier: MIT
// What the structs of op attributes are described with.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <tuple>

namespace traingraph {

/// (height, width) or (y, x).
using Pair = std::array<std::int64_t, 2>;
/// (top, bottom, left, right).
using Padding = std::array<std::int64_t, 4>;

/// The default of an activation's parameter: what ActivationDescriptor has for
/// the type, which Graph::op fills in. A NaN that no arithmetic makes, so that
/// any other one is refused.
inline constexpr float kOfType = std::bit_cast<float>(0x7fc7'0f7eu);
constexpr bool is_of_type(float value) {
  return std::bit_cast<std::uint32_t>(value) ==
         std::bit_cast<std::uint32_t>(kOfType);
}

/// Name and member pointer of one attribute.
template <class Struct, class Member>
struct Field {
  const char* name;
  Member Struct::* member;
  static constexpr bool kIsRequired = false;
};
/// A field without a default that anyone could mean: bindings ask for it.
template <class Struct, class Member>
struct RequiredField {
  const char* name;
  Member Struct::* member;
  static constexpr bool kIsRequired = true;
};
// Compilers before clang 17 do not deduce the arguments of aggregates.
template <class Struct, class Member>
Field(const char*, Member Struct::*) -> Field<Struct, Member>;
template <class Struct, class Member>
RequiredField(const char*, Member Struct::*) -> RequiredField<Struct, Member>;

#define TRAINGRAPH_FIELDS(Struct, ...)            \
  bool operator==(const Struct&) const = default; \
  static constexpr auto fields() {                \
    using Self = Struct;                          \
    return std::tuple{__VA_ARGS__};               \
  }
#define TRAINGRAPH_FIELD(member) \
  Field { #member, &Self::member }
#define TRAINGRAPH_REQUIRED(member) \
  RequiredField { #member, &Self::member }

}  // namespace traingraph
