// SPDX-License-Identifier: MIT
// C++ exceptions as Python objects, for those that are stored, not thrown.
#pragma once

#include <pybind11/pybind11.h>

#include <exception>

namespace traingraph::python {

/// None for a null pointer.
pybind11::object to_python(const std::exception_ptr& error);
/// Makes it the error of the call, for where pybind11 does not.
void set_python_error(const std::exception_ptr& error);

}  // namespace traingraph::python
