// SPDX-License-Identifier: MIT
// Docstrings that the names of arguments take part in: _docstrings.py.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

namespace traingraph::python {

/// Of every layer.
inline constexpr const char* kNameDoc =
    "Names the layer in its graph, and its parameters; see Layer.name.";

/// The same of what is no layer.
template <class Type>
inline constexpr const char* kNameDocOf = kNameDoc;

/// Says what the arguments of a constructor are, {name: text}: lines of the
/// Args: section of its class. Properties of these names say the same.
inline void add_arguments(pybind11::handle type,
                          const pybind11::dict& arguments) {
  pybind11::module_::import("traingraph._docstrings")
      .attr("add_arguments")(type, arguments);
}

/// The same of a function, whose docstring it returns.
inline std::string with_arguments(const char* doc,
                                  const pybind11::dict& arguments) {
  return pybind11::module_::import("traingraph._docstrings")
      .attr("with_arguments")(doc, arguments)
      .cast<std::string>();
}

}  // namespace traingraph::python
