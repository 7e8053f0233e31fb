// SPDX-License-Identifier: MIT
// Objects of Python that threads of the library call.
#pragma once

#include <pybind11/numpy.h>

#include <functional>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "bindings.h"

namespace traingraph::python {

/// The memory itself, for the time of a call.
template <class Element>
py::array view_of(std::span<Element> values) {
  using Value = std::remove_const_t<Element>;
  using Stored =
      std::conditional_t<std::is_same_v<Value, std::byte>, std::uint8_t, Value>;
  const auto size = static_cast<py::ssize_t>(values.size());
  py::array array(py::dtype::of<Stored>(), std::vector<py::ssize_t>{size}, {},
                  values.data(), py::none());
  if (std::is_const_v<Element>) {
    array.attr("flags").attr("writeable") = false;
  }
  return array;
}

/// Calls `use` with the object of keep_alive(), on any thread. What Python
/// raises is thrown as it is; DeviceError naming `op` when the interpreter is
/// at its end.
void call_python(const std::shared_ptr<void>& object, const char* op,
                 const std::function<void(const py::object&)>& use);

}  // namespace traingraph::python
