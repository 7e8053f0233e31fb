// SPDX-License-Identifier: MIT
// Each function of the extension is wrapped in one that calls it, and asks
// traingraph/_calls.py what was wrong with a call that it refused. The wrappers
// are plain functions of Python's C API; a call that succeeds costs one hop.
#include "calls.h"

#include <deque>

namespace traingraph::python {
namespace {

/// What a wrapper refers to for as long as the process lives.
struct Definition {
  std::string name, doc;
  PyMethodDef method;
};

/// Replaces the current TypeError by what self[1], `explain`, makes of it.
void explain_error(PyObject* self, PyObject* const* args, py::ssize_t num_args,
                   PyObject* names) {
  py::error_already_set error;
  py::list positional;
  for (py::ssize_t i = 0; i < num_args; ++i) {
    positional.append(py::handle(args[i]));
  }
  py::dict keywords;
  const py::ssize_t num_names = names ? PyTuple_GET_SIZE(names) : 0;
  for (py::ssize_t i = 0; i < num_names; ++i) {
    keywords[PyTuple_GET_ITEM(names, i)] = py::handle(args[num_args + i]);
  }
  const py::handle explain = PyTuple_GET_ITEM(self, 1);
  const py::object clear = explain(error.value(), positional, keywords);
  if (clear.is_none()) return error.restore();
  PyErr_SetObject(py::type::handle_of(clear).ptr(), clear.ptr());
}

PyObject* call(PyObject* self, PyObject* const* args, Py_ssize_t num_args,
               PyObject* names) {
  PyObject* const result =
      PyObject_Vectorcall(PyTuple_GET_ITEM(self, 0), args,
                          static_cast<std::size_t>(num_args), names);
  if (result || PyErr_Occurred() != PyExc_TypeError) return result;
  try {
    explain_error(self, args, num_args, names);
  } catch (py::error_already_set& error) {
    error.restore();
  }
  return nullptr;
}

/// `function`, a method or not, with errors by `explain`. `doc` may begin with
/// the text from which inspect.signature() reads.
py::object wrapped(py::handle function, const std::string& name,
                   const std::string& doc, const py::object& explain) {
  static auto* const definitions = new std::deque<Definition>;
  const bool is_method = PyInstanceMethod_Check(function.ptr());
  const py::handle inner = is_method
                               ? PyInstanceMethod_GET_FUNCTION(function.ptr())
                               : function.ptr();
  Definition& definition = definitions->emplace_back(Definition{name, doc, {}});
  definition.method = {
      definition.name.c_str(),
      reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&call)),
      METH_FASTCALL | METH_KEYWORDS, definition.doc.c_str()};
  const py::object module = py::getattr(inner, "__module__", py::none());
  auto outer = py::reinterpret_steal<py::object>(PyCFunction_NewEx(
      &definition.method, py::make_tuple(inner, explain).ptr(), module.ptr()));
  if (outer && is_method) {
    outer =
        py::reinterpret_steal<py::object>(PyInstanceMethod_New(outer.ptr()));
  }
  if (!outer) throw py::error_already_set();
  return outer;
}

template <class... Args>
std::string words(const char* module, const char* function,
                  const Args&... args) {
  return py::module_::import(module)
      .attr(function)(args...)
      .template cast<std::string>();
}

}  // namespace

std::string named(const std::string& annotation) {
  return words("traingraph._value_types", "named", annotation);
}

std::string did_you_mean(std::string_view name,
                         const std::vector<std::string>& names) {
  py::list known;
  for (const std::string& each : names) known.append(each);
  return words("traingraph._names", "did_you_mean", name, known);
}

std::string describe(py::handle object) {
  return words("traingraph._value_types", "describe", object);
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
  py::module_::import("traingraph._docstrings").attr("install")(m);
  py::module_::import("traingraph._calls")
      .attr("install")(m, py::cpp_function(&wrapped));
}

}  // namespace traingraph::python
