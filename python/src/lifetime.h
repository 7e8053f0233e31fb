// SPDX-License-Identifier: MIT
// Python objects in the hands of device threads: buffers that are kept alive,
// callbacks that are called, and the end of the interpreter, after which
// neither may touch Python.
#pragma once

#include <pybind11/pybind11.h>

#include <functional>
#include <memory>

#include "traingraph/device.h"
#include "traingraph/execution.h"

namespace traingraph::python {

/// Owns a reference that may be dropped on any thread, with or without GIL.
std::shared_ptr<void> keep_alive(pybind11::object object);

/// Calls `function` with the GIL. What it raises goes to sys.unraisablehook.
std::function<void(const Execution&)> make_callback(pybind11::object function);

/// Calls `use` with the GIL; false, without a call, when the interpreter is at
/// its end.
bool with_gil(const std::function<void()>& use);

/// From now on devices are drained at exit.
void note_device();

}  // namespace traingraph::python
