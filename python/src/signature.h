// SPDX-License-Identifier: MIT
// Arguments and results that any Python object may be: C++ takes them as they
// are, signatures and stubs name what they should be.
#pragma once

#include <pybind11/pybind11.h>

#include <algorithm>

namespace traingraph::python {

/// Text as a template argument.
template <std::size_t N>
struct TypeName {
  constexpr TypeName(const char (&literal)[N]) {
    std::copy_n(literal, N, text);
  }
  char text[N];
};

inline bool is_anything(PyObject*) { return true; }

/// In signatures: `kName`.
template <TypeName kName>
class Named : public pybind11::object {
  PYBIND11_OBJECT_DEFAULT(Named, object, is_anything)
};

}  // namespace traingraph::python

template <traingraph::python::TypeName kName>
struct pybind11::detail::handle_type_name<traingraph::python::Named<kName>> {
  // NOLINTNEXTLINE(readability-identifier-naming): pybind11 reads it
  static constexpr auto name = const_name(kName.text);
};
