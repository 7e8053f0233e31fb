// SPDX-License-Identifier: MIT
// With this header, functions of a pybind11 module take and return Tensor,
// Execution, TrainingGraph and InferenceGraph as objects of the Python package,
// and raise its errors. See python.h.
#pragma once

#include <pybind11/pybind11.h>

#include <optional>
#include <utility>

#include "traingraph/error.h"
#include "traingraph/python.h"

namespace traingraph {

/// Lets functions of this module raise traingraph.ShapeError and its kin. Call
/// it in PYBIND11_MODULE.
inline void raise_errors_of_package() {
  pybind11::register_local_exception_translator(
      // NOLINTNEXTLINE(performance-unnecessary-value-param): pybind11's type
      [](std::exception_ptr error) {
        try {
          std::rethrow_exception(error);
        } catch (const Error&) {
          set_python_error(error);
        }
      });
}

}  // namespace traingraph

namespace pybind11::detail {

template <traingraph::SharedWithPython T>
class type_caster<T> {
 public:
  static constexpr auto name = const_name("traingraph object");

  bool load(handle source, bool) {
    object_ = traingraph::from_python<T>(source.ptr());
    if (object_) return true;
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw error_already_set();
    PyErr_Clear();
    return false;
  }
  static handle cast(const T& object, return_value_policy, handle) {
    PyObject* result = traingraph::to_python(object);
    if (!result) throw error_already_set();
    return result;
  }
  static handle cast(const T* object, return_value_policy policy, handle base) {
    return object ? cast(*object, policy, base) : none().release();
  }

  template <class Target>
  using cast_op_type = movable_cast_op_type<Target>;
  operator T*() { return &*object_; }
  operator T&() { return *object_; }
  operator T&&() && { return std::move(*object_); }

 private:
  std::optional<T> object_;
};

}  // namespace pybind11::detail
