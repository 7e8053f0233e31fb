// SPDX-License-Identifier: MIT
// What floats are stored as. Loops are templates over the stored type and
// compute in float: reading an element upcasts it, assigning to one rounds. So
// a stored type converts to and from float by itself and has no arithmetic of
// its own; a loop that adds up must do so in float or double.
//
// Ops whose loops are instantiated for more than float call one of the visitors
// below it and have a row in kernel_table.cpp; the others get float32, by casts
// around them. Loops that take long to compile leave out float16, which few
// processors multiply: there it saves memory, not time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>

#include "base/checked.h"
#include "cpu/lowering.h"
#include "traingraph/half_types.h"

namespace traingraph::cpu {

[[noreturn]] inline void fail_type(const UnitBuilder& unit, DataType type) {
  throw UnsupportedError(
      ErrorInfo{.op = unit.node().op->name,
                .node = unit.node().name,
                .what = "the CPU does not compute in this type",
                .got = std::string(to_string(type))});
}

/// Calls use(T{}) with the C++ type that floats of `type` are stored as; once,
/// while unit.
template <class Use>
void visit_float_type(const UnitBuilder& unit, DataType type, Use&& use) {
  switch (type) {
    case DataType::Float32:
      return use(float{});
    default:
      fail_type(unit, type);
  }
}

/// Calls `use` for bfloat16, too.
template <class Use>
void visit_float_or_bfloat16(const UnitBuilder& unit, DataType type,
                             Use&& use) {
  if (type == DataType::BFloat16) return use(bfloat16{});
  visit_float_type(unit, type, use);
}

/// Calls `use` for all floats.
template <class Use>
void visit_any_float(const UnitBuilder& unit, DataType type, Use&& use) {
  if (type == DataType::Float16) return use(float16{});
  visit_float_or_bfloat16(unit, type, use);
}

/// Calls `use` for all types. Booleans come as `bool` so that casts can tell
/// them from UInt8; they are stored as one byte 0 or 1.
template <class Use>
void visit_type(const UnitBuilder& unit, DataType type, Use&& use) {
  switch (type) {
    case DataType::Boolean:
      return use(bool{});
    case DataType::Int64:
      return use(std::int64_t{});
    case DataType::Int32:
      return use(std::int32_t{});
    case DataType::Int8:
      return use(std::int8_t{});
    case DataType::UInt8:
      return use(std::uint8_t{});
    default:
      visit_any_float(unit, type, use);
  }
}

/// A byte may be no `bool` of C++.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

/// Does storing lose nothing of what a loop computes?
template <class T>
inline constexpr bool is_exact = std::is_same_v<T, float>;

/// Argument for the sums of a kernel that adds up many contributions to each
/// of `n` elements of `result_arg`: these themselves, or floats beside them.
template <class T>
int add_sums(UnitBuilder& unit, int result_arg, std::int64_t n) {
  if constexpr (is_exact<T>) return result_arg;
  return unit.scratch(checked_bytes<float>(n, "scratch"));
}

/// Rounds what was added up.
template <class T>
void store_sums(const float* sums, T* result, std::int64_t n) {
  if constexpr (!is_exact<T>) std::copy_n(sums, n, result);
}

}  // namespace traingraph::cpu
