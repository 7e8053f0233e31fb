// SPDX-License-Identifier: MIT
// C++ exceptions as Python objects, for those that are stored, not thrown.
#pragma once

#include <pybind11/pybind11.h>

#include <exception>
#include <memory>

#include "traingraph/error.h"

namespace traingraph::python {

/// What Python code raised on its way through C++, maybe to another thread. It
/// may go when the interpreter has ended, which error_already_set may not.
class PythonError : public std::exception {
 public:
  /// With the GIL.
  explicit PythonError(const pybind11::error_already_set& error);
  const char* what() const noexcept override { return "a Python exception"; }
  PyObject* value() const { return static_cast<PyObject*>(value_.get()); }

 private:
  std::shared_ptr<void> value_;
};

/// A call that is wrong in itself: traingraph.errors.CallError.
class CallError : public InvalidArgument {
 public:
  using InvalidArgument::InvalidArgument;
};

/// None for a null pointer.
pybind11::object to_python(const std::exception_ptr& error);
/// Makes it the error of the call, for where pybind11 does not.
void set_python_error(const std::exception_ptr& error);

}  // namespace traingraph::python
