// SPDX-License-Identifier: MIT
// What the files of the extension module share: one bind function per topic.
#pragma once

#include <pybind11/pybind11.h>

#include <utility>

#include "traingraph/traingraph.h"

namespace traingraph::python {

namespace py = pybind11;

// In the order in which module.cpp calls them: a type must be bound before a
// signature or a default value mentions it.
void bind_errors(py::module_& m);
void bind_types(py::module_& m);
void bind_device(py::module_& m);
void bind_tensor(py::module_& m);
void bind_layers(py::module_& m);
void bind_losses(py::module_& m);
void bind_optimizers(py::module_& m);
void bind_execution(py::module_& m);
void bind_graph(py::module_& m);
void bind_ops(py::module_& m);
void bind_compiled_graph(py::module_& m);
void bind_training(py::module_& m);
void bind_shutdown(py::module_& m);

/// Calls `function` without the GIL. Everything that may wait for a lock or a
/// device goes through here: device threads take the GIL for callbacks, so
/// waiting for them while holding it would be a deadlock.
template <class Function>
auto without_gil(Function&& function) {
  py::gil_scoped_release release;
  return std::forward<Function>(function)();
}

/// class_ of a handle whose last copy may wait for a device when it goes.
template <class Type, class... Options>
using Handle = py::class_<Type, Options...>;
inline constexpr py::release_gil_before_calling_cpp_dtor kDropsWithoutGil{};

}  // namespace traingraph::python
