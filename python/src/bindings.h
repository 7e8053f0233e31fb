// SPDX-License-Identifier: MIT
// What the files of the extension module share: one bind function per topic.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
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
/// Last: looks at everything that is bound.
void bind_calls(py::module_& m);

/// Gives up the GIL for a scope. Everything that may wait for a lock or a
/// device does: device threads take the GIL for callbacks, so waiting for them
/// while holding it would be a deadlock.
///
/// Unlike py::gil_scoped_release it survives the end of the interpreter: from
/// then on a daemon thread stays here, where Python would unwind it through
/// C++ and so terminate the process.
///
/// Throws DeviceError in a forked child, where a wait would have no end.
class WithoutGil {
 public:
  WithoutGil();
  ~WithoutGil();
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

/// An argument that is an integer: numpy.float32(2.7) is an error, not 2.
inline py::arg whole(const char* name) { return py::arg(name).noconvert(); }

template <class Function>
auto without_gil(Function&& function) {
  const WithoutGil released;
  return std::forward<Function>(function)();
}

/// A const method without arguments that may wait for a lock: a thread that
/// holds the lock may in turn wait for the GIL.
template <class Result, class Class>
auto released(Result (Class::*method)() const) {
  return [method](const Class& self) {
    return without_gil([&] { return (self.*method)(); });
  };
}

/// In a forked child nothing is deleted: threads that are not there may hold
/// the locks.
bool has_lost_device_threads();

struct DeleteWithoutGil {
  template <class Type>
  void operator()(Type* object) const {
    if (has_lost_device_threads()) return;
    const WithoutGil released;
    delete object;
  }
};

/// class_ of a handle whose last copy may wait for a device when it goes.
template <class Type, class... Bases>
using Handle =
    py::class_<Type, Bases..., std::unique_ptr<Type, DeleteWithoutGil>>;

/// Methods of CompiledGraph that are a topic of their own.
void bind_insight(Handle<CompiledGraph, Graph>& graph);

}  // namespace traingraph::python
