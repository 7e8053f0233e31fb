// SPDX-License-Identifier: MIT
// From a DataType to the C++ type of its elements.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "traingraph/error.h"
#include "traingraph/half_types.h"
#include "traingraph/types.h"

namespace traingraph {

/// Is it a float, in however many bits?
template <class T>
inline constexpr bool kIsFloatType =
    !std::is_integral_v<T> && std::is_convertible_v<T, float>;

/// Returns use(T{}) with what C++ has elements of `type` as. Booleans come as
/// `bool`; they are stored as one byte 0 or 1.
template <class Use>
auto visit_type(DataType type, Use&& use) {
  switch (type) {
#define TRAINGRAPH_DATA_TYPE(Type, number, name, T, kind, file) \
  case DataType::Type:                                          \
    return use(T{});
#include "traingraph/data_types.inc"
#undef TRAINGRAPH_DATA_TYPE
  }
  throw InvalidArgument(
      ErrorInfo{.what = "not a data type",
                .got = std::to_string(static_cast<std::int32_t>(type))});
}

/// The same for floats alone.
template <class Use>
auto visit_float_type(DataType type, Use&& use) {
  switch (type) {
#define TRAINGRAPH_DATA_TYPE(Type, number, name, T, kind, file) \
  case DataType::Type:                                          \
    if constexpr (kIsFloatType<T>) return use(T{});             \
    break;
#include "traingraph/data_types.inc"
#undef TRAINGRAPH_DATA_TYPE
  }
  throw DTypeError(ErrorInfo{.op = "floats",
                             .what = "the values are no floats",
                             .expected = "float32, bfloat16 or float16",
                             .got = std::string(to_string(type))});
}

}  // namespace traingraph
