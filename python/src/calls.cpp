// SPDX-License-Identifier: MIT
// The TypeError of a call that fits no signature prints all signatures and all
// arguments. Here it becomes a CallError that names the argument, what it takes
// and what came (traingraph/_calls.py): all functions and classes are gone
// through once, when the module is imported, and each function is replaced by
// one that calls it and explains that error.
#include "calls.h"

#include <pybind11/stl.h>

#include <deque>

#include "arrays.h"
#include "errors.h"
#include "text_signature.h"

namespace traingraph::python {
namespace {

/// A function with METH_FASTCALL | METH_KEYWORDS.
using Dispatch = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t,
                               PyObject*);

constexpr int kDispatchFlags = METH_FASTCALL | METH_KEYWORDS;
constexpr std::size_t kLongestRepr = 40;
constexpr const char* kArgumentsFollow = "\nInvoked with: ";

/// pybind11's; the same for all functions, which differ in their __self__.
Dispatch g_dispatch = nullptr;

/// Null unless pybind11 made the function.
Dispatch dispatch_of(PyObject* function) {
  if (!PyCFunction_Check(function)) return nullptr;
  if (PyCFunction_GetFlags(function) != kDispatchFlags) return nullptr;
  const auto erased =
      reinterpret_cast<void (*)()>(PyCFunction_GetFunction(function));
  return reinterpret_cast<Dispatch>(erased);
}

/// What fits no signature because it fits no std::int64_t or std::string.
void require_representable(PyObject* const* args, std::size_t num_args,
                           PyObject* names) {
  const py::ssize_t num_names = names ? PyTuple_GET_SIZE(names) : 0;
  const std::size_t num_values = num_args + static_cast<std::size_t>(num_names);
  for (std::size_t i = 0; i < num_values; ++i) {
    require_in_range(args[i]);
    if (PyUnicode_Check(args[i])) to_utf8(args[i], "call");
  }
}

/// Replaces the current TypeError where it is pybind11's of a wrong call.
void explain_error(PyObject* const* args, std::size_t num_args,
                   PyObject* names) {
  py::error_already_set error;
  std::string message = py::str(error.value()).cast<std::string>();
  const std::size_t end = message.find(kArgumentsFollow);
  if (end == std::string::npos) return error.restore();
  require_representable(args, num_args, names);
  message.resize(end);
  py::list positional;
  for (std::size_t i = 0; i < num_args; ++i) {
    positional.append(py::handle(args[i]));
  }
  py::dict keywords;
  const py::ssize_t num_names = names ? PyTuple_GET_SIZE(names) : 0;
  for (py::ssize_t i = 0; i < num_names; ++i) {
    keywords[py::handle(PyTuple_GET_ITEM(names, i))] =
        py::handle(args[num_args + static_cast<std::size_t>(i)]);
  }
  const py::object explained =
      py::module_::import("traingraph._calls")
          .attr("error_of")(message, positional, keywords);
  if (explained.is_none()) return error.restore();
  PyErr_SetObject(py::type::handle_of(explained).ptr(), explained.ptr());
}

PyObject* dispatch(PyObject* self, PyObject* const* args, Py_ssize_t num_args,
                   PyObject* names) {
  PyObject* const result = g_dispatch(self, args, num_args, names);
  if (result || !PyErr_ExceptionMatches(PyExc_TypeError)) return result;
  try {
    explain_error(args, static_cast<std::size_t>(num_args), names);
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const InvalidArgument&) {
    set_python_error(std::current_exception());
  }
  return nullptr;
}

/// The same function, called by dispatch(); empty when it is not pybind11's.
py::object with_clear_errors(py::handle function) {
  // Functions refer to their definition, so it lives as long as the process.
  static auto* const definitions = new std::deque<PyMethodDef>;
  static auto* const documentations = new std::deque<std::string>;
  const bool is_method = PyInstanceMethod_Check(function.ptr());
  PyObject* const inner = is_method
                              ? PyInstanceMethod_GET_FUNCTION(function.ptr())
                              : function.ptr();
  if (!g_dispatch || dispatch_of(inner) != g_dispatch) return {};
  PyMethodDef& definition = definitions->emplace_back(
      *reinterpret_cast<PyCFunctionObject*>(inner)->m_ml);
  if (definition.ml_doc) {
    const auto signature =
        text_signature(definition.ml_name, definition.ml_doc);
    definition.ml_doc =
        documentations->emplace_back(signature + definition.ml_doc).c_str();
  }
  definition.ml_meth =
      reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&dispatch));
  const py::object module = py::getattr(inner, "__module__", py::none());
  auto outer = py::reinterpret_steal<py::object>(
      PyCFunction_NewEx(&definition, PyCFunction_GetSelf(inner), module.ptr()));
  if (outer && is_method) {
    outer =
        py::reinterpret_steal<py::object>(PyInstanceMethod_New(outer.ptr()));
  }
  if (!outer) throw py::error_already_set();
  return outer;
}

/// The same for an attribute of a module or class: a function, a static method
/// or a property; empty for anything else.
py::object replacement_of(py::handle attribute) {
  const py::type type = py::type::of(attribute);
  if (PyObject_IsInstance(attribute.ptr(),
                          reinterpret_cast<PyObject*>(&PyProperty_Type))) {
    const auto part = [&](const char* name) -> py::object {
      const py::object function = attribute.attr(name);
      const py::object replaced = with_clear_errors(function);
      return replaced ? replaced : function;
    };
    py::object doc = attribute.attr("__doc__");
    if (doc.is_none()) doc = py::str();  // None would ask fget for its own
    return type(part("fget"), part("fset"), part("fdel"), doc);
  }
  if (!type.is(py::handle(reinterpret_cast<PyObject*>(&PyStaticMethod_Type)))) {
    return with_clear_errors(attribute);
  }
  const py::object function = with_clear_errors(attribute.attr("__func__"));
  return function ? type(function) : function;
}

void clarify_errors_of(py::handle scope) {
  const py::dict members = scope.attr("__dict__").attr("copy")();
  for (const auto& [name, member] : members) {
    const py::object replaced = replacement_of(member);
    if (replaced) py::setattr(scope, name, replaced);
  }
}

}  // namespace

std::string named(const std::string& annotation) {
  return py::module_::import("traingraph._value_types")
      .attr("named")(annotation)
      .cast<std::string>();
}

std::string did_you_mean(std::string_view name,
                         const std::vector<std::string>& names) {
  return py::module_::import("traingraph._names")
      .attr("did_you_mean")(name, names)
      .cast<std::string>();
}

std::string describe(py::handle object) {
  try {
    const bool is_plain = object.is_none() || PyLong_Check(object.ptr()) ||
                          PyFloat_Check(object.ptr()) ||
                          PyUnicode_Check(object.ptr());
    if (is_plain) {
      const auto text = py::repr(object).cast<std::string>();
      if (text.size() <= kLongestRepr) return text;
    }
  } catch (py::error_already_set&) {  // NOLINT(bugprone-empty-catch)
    // An integer may be too long to print: its type says enough.
  }
  return py::type::handle_of(object).attr("__name__").cast<std::string>();
}

void require_in_range(py::handle object) {
  if (!PyLong_Check(object.ptr())) return;
  int overflow = 0;
  PyLong_AsLongLongAndOverflow(object.ptr(), &overflow);
  if (overflow == 0) return;
  throw InvalidArgument(ErrorInfo{.op = "call",
                                  .node = {},
                                  .what = "an integer is out of range",
                                  .expected = "-2^63 to 2^63 - 1",
                                  .got = describe(object),
                                  .hint = {}});
}

void bind_calls(py::module_& m) {
  g_dispatch = dispatch_of(py::cpp_function([] {}).ptr());
  const py::type metaclass = py::type::of(py::type::of<Tensor>());
  clarify_errors_of(m);
  for (const auto& [name, member] : py::dict(m.attr("__dict__"))) {
    if (py::type::handle_of(member).is(metaclass)) clarify_errors_of(member);
  }
}

}  // namespace traingraph::python
