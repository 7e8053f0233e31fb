// SPDX-License-Identifier: MIT
// Two things that pybind11 leaves open, closed for all classes and functions
// at once: objects whose __init__ never ran hold uninitialized memory, and the
// TypeError of a call that fits no signature prints all arguments.
#include "calls.h"

namespace traingraph::python {
namespace {

using Dispatch = PyObject* (*)(PyObject*, PyObject* const*, std::size_t,
                               PyObject*);

constexpr std::size_t kLongestRepr = 40;
constexpr const char* kArgumentsFollow = "\nInvoked with: ";

/// pybind11's; the same for all functions.
Dispatch g_dispatch = nullptr;

/// Called where pybind11 would allocate an object that has none.
void* fail_uninitialized(std::size_t) {
  throw py::type_error(
      "object is not initialized: its __init__() was never called");
}

std::string describe_arguments(PyObject* const* args, std::size_t num_args,
                               PyObject* names) {
  std::string text;
  const auto append = [&](const std::string& argument) {
    text += (text.empty() ? "" : ", ") + argument;
  };
  for (std::size_t i = 0; i < num_args; ++i) append(describe(args[i]));
  const py::ssize_t num_names = names ? PyTuple_GET_SIZE(names) : 0;
  for (py::ssize_t i = 0; i < num_names; ++i) {
    const py::handle name = PyTuple_GET_ITEM(names, i);
    append(py::str(name).cast<std::string>() + '=' +
           describe(args[num_args + static_cast<std::size_t>(i)]));
  }
  return text;
}

/// Replaces what pybind11 prints of the arguments, in the current TypeError.
void shorten_error(PyObject* const* args, std::size_t num_args,
                   PyObject* names) {
  py::error_already_set error;
  std::string message = py::str(error.value()).cast<std::string>();
  const std::size_t end = message.find(kArgumentsFollow);
  if (end == std::string::npos) return error.restore();
  message.resize(end);
  message += kArgumentsFollow + describe_arguments(args, num_args, names);
  py::set_error(PyExc_TypeError, message.c_str());
}

PyObject* dispatch(PyObject* self, PyObject* const* args, std::size_t nargsf,
                   PyObject* names) {
  PyObject* const result = g_dispatch(self, args, nargsf, names);
  if (result || !PyErr_ExceptionMatches(PyExc_TypeError)) return result;
  try {
    const auto num_args = static_cast<std::size_t>(PyVectorcall_NARGS(nargsf));
    shorten_error(args, num_args, names);
  } catch (py::error_already_set& error) {
    error.restore();
  }
  return nullptr;
}

void wrap(py::handle function) {
  if (!function || !PyCFunction_Check(function.ptr())) return;
  PyMethodDef* const definition =
      reinterpret_cast<PyCFunctionObject*>(function.ptr())->m_ml;
  if (definition->ml_flags != (METH_FASTCALL | METH_KEYWORDS)) return;
  const auto erased = reinterpret_cast<void (*)()>(definition->ml_meth);
  const auto current = reinterpret_cast<Dispatch>(erased);
  if (!g_dispatch) g_dispatch = current;
  if (current != g_dispatch) return;
  definition->ml_meth =
      reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&dispatch));
}

/// A module's or class's attribute: a function, or what wraps functions.
void wrap_attribute(py::handle attribute) {
  wrap(py::detail::get_function(attribute));
  for (const char* name : {"__func__", "fget", "fset"}) {
    if (!py::hasattr(attribute, name)) continue;
    wrap(py::detail::get_function(attribute.attr(name)));
  }
}

void guard_class(PyTypeObject* type) {
  py::detail::type_info* const info = py::detail::get_type_info(type);
  if (!info) return;
  info->operator_new = fail_uninitialized;
  const py::dict members(
      py::handle(reinterpret_cast<PyObject*>(type)).attr("__dict__"));
  for (const auto& [name, member] : members) wrap_attribute(member);
}

}  // namespace

std::string describe(py::handle object) {
  try {
    const bool is_plain = object.is_none() || PyLong_Check(object.ptr()) ||
                          PyFloat_Check(object.ptr()) ||
                          PyUnicode_Check(object.ptr());
    if (is_plain) {
      const auto text = py::repr(object).cast<std::string>();
      if (text.size() <= kLongestRepr) return text;
    }
  } catch (py::error_already_set&) {
    // An integer may be too long to print: its type says enough.
  }
  return py::type::handle_of(object).attr("__name__").cast<std::string>();
}

void bind_calls(py::module_& m) {
  const py::dict members(m.attr("__dict__"));
  for (const auto& [name, member] : members) {
    wrap_attribute(member);
    if (!PyType_Check(member.ptr())) continue;
    guard_class(reinterpret_cast<PyTypeObject*>(member.ptr()));
  }
}

}  // namespace traingraph::python
