// SPDX-License-Identifier: MIT
// C++ exceptions become the classes of traingraph/errors.py, which carry the
// same fields and Python's builtin bases.
#include "errors.h"

#include <new>
#include <stdexcept>
#include <string_view>

#include "bindings.h"
#include "lifetime.h"

namespace traingraph::python {
namespace {

/// Also of names of files, which need not be UTF-8.
py::str to_text(std::string_view text) {
  PyObject* const decoded = PyUnicode_DecodeUTF8(
      text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace");
  if (!decoded) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(decoded);
}

py::object make(const char* type, const char* message, const ErrorInfo& info) {
  using namespace py::literals;
  return py::module_::import("traingraph.errors")
      .attr(type)(to_text(message), "op"_a = to_text(info.op),
                  "node"_a = to_text(info.node),
                  "expected"_a = to_text(info.expected),
                  "got"_a = to_text(info.got), "hint"_a = to_text(info.hint));
}

constexpr const char* kNoHostMemory = "host memory could not be allocated";

py::object make(const char* type, const Error& error) {
  return make(type, error.what(), error.info());
}

/// With its traceback.
py::object value_of(const py::error_already_set& error) {
  py::object value = error.value();
  const py::object& trace = error.trace();
  if (trace) PyException_SetTraceback(value.ptr(), trace.ptr());
  return value;
}

}  // namespace

PythonError::PythonError(const py::error_already_set& error)
    : value_(keep_alive(value_of(error))) {}

py::object to_python(const std::exception_ptr& error) {
  if (!error) return py::none();
  try {
    std::rethrow_exception(error);
  } catch (py::error_already_set& e) {
    return e.value();
  } catch (const PythonError& e) {
    return py::reinterpret_borrow<py::object>(e.value());
  } catch (const ShapeError& e) {
    return make("ShapeError", e);
  } catch (const DTypeError& e) {
    return make("DTypeError", e);
  } catch (const CallError& e) {
    return make("CallError", e);
  } catch (const InvalidArgument& e) {
    return make("InvalidArgument", e);
  } catch (const UnsupportedError& e) {
    return make("UnsupportedError", e);
  } catch (const StateError& e) {
    return make("StateError", e);
  } catch (const OutOfMemoryError& e) {
    return make("OutOfMemoryError", e);
  } catch (const CancelledError& e) {
    return make("CancelledError", e);
  } catch (const DeviceLostError& e) {
    return make("DeviceLostError", e);
  } catch (const DeviceError& e) {
    return make("DeviceError", e);
  } catch (const FileError& e) {
    return make("FileError", e);
  } catch (const InternalError& e) {
    return make("InternalError", e);
  } catch (const Error& e) {
    return make("Error", e);
  } catch (const std::bad_alloc&) {
    return make("OutOfMemoryError", OutOfMemoryError(kNoHostMemory));
  } catch (const std::length_error&) {
    return make("OutOfMemoryError", OutOfMemoryError(kNoHostMemory));
  } catch (const std::exception& e) {
    return make("InternalError", e.what(), {});
  } catch (...) {
    return make("InternalError", "unknown C++ exception", {});
  }
}

void set_python_error(const std::exception_ptr& error) {
  const py::object value = to_python(error);
  PyErr_SetObject(py::type::handle_of(value).ptr(), value.ptr());
}

void bind_errors(py::module_&) {
  // What is not ours (TypeError of a bad call, KeyError ...) stays pybind11's.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): pybind11's type
  py::register_local_exception_translator([](std::exception_ptr error) {
    try {
      std::rethrow_exception(error);
    } catch (const Error&) {
      set_python_error(error);
    } catch (const PythonError&) {
      set_python_error(error);
    } catch (const std::bad_alloc&) {
      set_python_error(error);
    } catch (const std::length_error&) {
      set_python_error(error);
    } catch (const py::cast_error&) {
      const CallError bad(
          ErrorInfo{.op = "call",
                    .what = "an object has another type than expected, or its "
                            "__init__() was never called",
                    .hint = "Call super().__init__() in classes of your own."});
      set_python_error(std::make_exception_ptr(bad));
    }
  });
}

}  // namespace traingraph::python
