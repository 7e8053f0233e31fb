// SPDX-License-Identifier: MIT
// Conversions that hold everywhere: shapes are tuples, pairs and paddings may
// be one integer, enums may be lower-case strings, data types NumPy's.
#pragma once

#include <pybind11/native_enum.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "traingraph/enum_table.h"
#include "traingraph/op_attrs.h"
#include "traingraph/types.h"

namespace traingraph::python {

namespace py = pybind11;

/// Throws InvalidArgument with the names that would have been right.
[[noreturn]] void fail_enum(const char* type, std::string_view got,
                            const std::vector<std::string>& names);

template <class Enum>
Enum enum_from_name(std::string_view given) {
  std::string name(given);
  std::ranges::replace(name, '-', '_');
  std::vector<std::string> names;
  for (const auto& row : EnumTable<Enum>::kCases) {
    if (row.name == name) return row.value;
    names.emplace_back(row.name);
  }
  fail_enum(EnumTable<Enum>::kName, given, names);
}

/// The enum case, a name, or anything that numpy.dtype() takes. Throws
/// DTypeError for a type that traingraph does not have.
DataType to_data_type(py::handle source);
/// Of a numpy.dtype.
DataType to_data_type(const py::object& dtype, const char* op,
                      std::string_view node);
/// Empty for a type that traingraph does not have.
std::optional<DataType> find_data_type(const py::dtype& dtype);
/// By its name in C++, as messages have it; empty for other words.
std::optional<DataType> data_type_named(std::string_view name);
/// Of arrays that users get. Throws DTypeError for bfloat16 where ml_dtypes is
/// not installed, which has it.
py::dtype to_dtype(DataType type);
/// Of arrays inside the package: NumPy's, and of bfloat16 records of the bits.
py::dtype stored_dtype(DataType type);
/// Of ml_dtypes, or records of the bits.
bool is_bfloat16(const py::dtype& dtype);

/// False when `source` is no sequence of integers.
bool load_integers(py::handle source, std::vector<std::int64_t>& integers);
py::tuple to_tuple(const std::int64_t* begin, const std::int64_t* end);

}  // namespace traingraph::python

namespace pybind11::detail {

/// All enums but DataType, which NumPy spells in its own ways.
#define TRAINGRAPH_ENUM(Enum, doc)                                             \
  template <>                                                                  \
  struct type_caster_enum_type_enabled<traingraph::Enum> : std::false_type {}; \
  template <>                                                                  \
  class type_caster<traingraph::Enum> {                                        \
   public:                                                                     \
    PYBIND11_TYPE_CASTER(traingraph::Enum,                                     \
                         io_name("traingraph._core." #Enum " | str",           \
                                 "traingraph._core." #Enum));                  \
    bool load(handle source, bool convert) {                                   \
      if (PyUnicode_Check(source.ptr())) {                                     \
        value = traingraph::python::enum_from_name<traingraph::Enum>(          \
            source.cast<std::string>());                                       \
        return true;                                                           \
      }                                                                        \
      type_caster_enum_type<traingraph::Enum> native;                          \
      if (!native.load(source, convert)) return false;                         \
      value = static_cast<traingraph::Enum&>(native);                          \
      return true;                                                             \
    }                                                                          \
    static handle cast(traingraph::Enum source, return_value_policy policy,    \
                       handle parent) {                                        \
      return type_caster_enum_type<traingraph::Enum>::cast(source, policy,     \
                                                           parent);            \
    }                                                                          \
  };
#define TRAINGRAPH_CASE(Case, number, name, doc)
#define TRAINGRAPH_END_ENUM
#include "traingraph/enums.inc"

template <>
struct type_caster_enum_type_enabled<traingraph::DataType> : std::false_type {};

template <>
class type_caster<traingraph::DataType> {
 public:
  PYBIND11_TYPE_CASTER(traingraph::DataType,
                       io_name("traingraph._core.DataType | "
                               "numpy.typing.DTypeLike",
                               "traingraph._core.DataType"));
  bool load(handle source, bool) {
    if (source.is_none()) return false;
    value = traingraph::python::to_data_type(source);
    return true;
  }
  static handle cast(traingraph::DataType source, return_value_policy policy,
                     handle parent) {
    return type_caster_enum_type<traingraph::DataType>::cast(source, policy,
                                                             parent);
  }
};

template <>
class type_caster<traingraph::Shape> {
 public:
  PYBIND11_TYPE_CASTER(traingraph::Shape,
                       io_name("collections.abc.Sequence[int] | int",
                               "tuple[int, ...]"));
  bool load(handle source, bool) {
    std::vector<std::int64_t> sizes;
    if (!traingraph::python::load_integers(source, sizes)) return false;
    value = traingraph::Shape(std::span<const std::int64_t>(sizes));
    return true;
  }
  static handle cast(const traingraph::Shape& source, return_value_policy,
                     handle) {
    return traingraph::python::to_tuple(source.begin(), source.end()).release();
  }
};

template <>
class type_caster<traingraph::Pair> {
 public:
  PYBIND11_TYPE_CASTER(traingraph::Pair,
                       io_name("collections.abc.Sequence[int] | int",
                               "tuple[int, int]"));
  /// (height, width), or one integer for both.
  bool load(handle source, bool) {
    std::vector<std::int64_t> sizes;
    if (!traingraph::python::load_integers(source, sizes)) return false;
    if (sizes.empty() || sizes.size() > 2) return false;
    value = {sizes.front(), sizes.back()};
    return true;
  }
  static handle cast(const traingraph::Pair& source, return_value_policy,
                     handle) {
    return traingraph::python::to_tuple(source.data(), source.data() + 2)
        .release();
  }
};

template <>
class type_caster<traingraph::Padding> {
 public:
  PYBIND11_TYPE_CASTER(traingraph::Padding,
                       io_name("collections.abc.Sequence[int] | int",
                               "tuple[int, int, int, int]"));
  /// (top, bottom, left, right), (y, x), or one integer for all.
  bool load(handle source, bool) {
    std::vector<std::int64_t> sizes;
    if (!traingraph::python::load_integers(source, sizes)) return false;
    if (sizes.size() == 1) sizes.push_back(sizes[0]);
    if (sizes.size() == 2) sizes = {sizes[0], sizes[0], sizes[1], sizes[1]};
    if (sizes.size() != 4) return false;
    value = {sizes[0], sizes[1], sizes[2], sizes[3]};
    return true;
  }
  static handle cast(const traingraph::Padding& source, return_value_policy,
                     handle) {
    return traingraph::python::to_tuple(source.data(), source.data() + 4)
        .release();
  }
};

}  // namespace pybind11::detail
