// SPDX-License-Identifier: MIT
// What floats are stored as. Loops are templates over the stored type and
// compute in float: reading an element upcasts it, assigning to one rounds. So
// a stored type converts to and from float by itself and has no arithmetic of
// its own; a loop that adds up must do so in float or double.
//
// Loops are instantiated for the types in the row of their op
// (kernel_table.h); other ops get float32, by casts around them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>

#include "base/checked.h"
#include "base/visit_type.h"
#include "cpu/kernel_table.h"
#include "cpu/lowering.h"
#include "traingraph/half_types.h"
#include "traingraph/tensor_data.h"

namespace traingraph::cpu {

[[noreturn]] inline void fail_type(const UnitBuilder& unit, DataType type) {
  throw UnsupportedError(
      ErrorInfo{.op = unit.node().op->name,
                .node = unit.node().name,
                .what = "the CPU does not compute in this type",
                .got = std::string(to_string(type))});
}

/// Calls use(T{}) with the C++ type that floats of `type` are stored as, which
/// is float32 or one of these of 16 bits; once, while unit.
template <DataTypes kHalfTypes, class Use>
void visit_floats_in(const UnitBuilder& unit, DataType type, Use&& use) {
  constexpr DataTypes kTypes = kFloat32 | kHalfTypes;
  if ((kTypes & bit(type)) == 0) fail_type(unit, type);
  visit_float_type(type, [&]<class T>(T x) {
    if constexpr ((kTypes & bit(kDataTypeOf<T>)) != 0) use(x);
  });
}

/// Calls `use` for the floats of a row of the kernel table.
template <const Kernel& kRow, class Use>
void visit_floats(const UnitBuilder& unit, DataType type, Use&& use) {
  visit_floats_in<kRow.half_types>(unit, type, use);
}

/// Calls `use` for all floats.
template <class Use>
void visit_any_float(const UnitBuilder& unit, DataType type, Use&& use) {
  visit_floats_in<kHalf>(unit, type, use);
}

/// A byte may be no `bool` of C++.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

/// The same for values that a kernel only moves: floats of the row, indices and
/// Booleans.
template <const Kernel& kRow, class Use>
void visit_moved(const UnitBuilder& unit, DataType type, Use&& use) {
  switch (type) {
    case DataType::Int32:
      return use(std::int32_t{});
    case DataType::Int64:
      return use(std::int64_t{});
    case DataType::Boolean:
      return use(Stored<bool>{});
    default:
      return visit_floats<kRow>(unit, type, use);
  }
}

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
