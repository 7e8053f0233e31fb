// SPDX-License-Identifier: MIT
// Objects as capsules, for C++ that is not this module: traingraph/python.h.
#include "bindings.h"
#include "errors.h"
#include "traingraph/python.h"

namespace traingraph::python {
namespace {

template <class T>
void share(const py::module_& m) {
  const py::object type = m.attr(kPythonName<T>);
  type.attr("_share") = py::cpp_function(
      [](const T& self) {
        PyObject* const capsule = interop::make_capsule(self);
        if (!capsule) throw py::error_already_set();
        return py::reinterpret_steal<py::object>(capsule);
      },
      py::name("_share"), py::is_method(type));
}

template <class T>
bool adopt(PyObject* capsule, py::object& result) {
  const char* const name = interop::capsule_name<T>();
  if (!PyCapsule_IsValid(capsule, name)) return false;
  result = py::cast(*static_cast<T*>(PyCapsule_GetPointer(capsule, name)));
  return true;
}

py::object adopt_any(const py::capsule& capsule) {
  if (!interop::require_ours(capsule.ptr())) throw py::error_already_set();
  py::object result;
  if (adopt<Tensor>(capsule.ptr(), result) ||
      adopt<Execution>(capsule.ptr(), result) ||
      adopt<TrainingGraph>(capsule.ptr(), result) ||
      adopt<InferenceGraph>(capsule.ptr(), result)) {
    return result;
  }
  throw py::type_error("the capsule holds nothing that is shared");
}

}  // namespace

void bind_interop(py::module_& m) {
  share<Tensor>(m);
  share<Execution>(m);
  share<TrainingGraph>(m);
  share<InferenceGraph>(m);
  m.def("_adopt", &adopt_any, py::arg("capsule"));
  static interop::SetError set_error = &python::set_python_error;
  const py::capsule error(&set_error, interop::kSetErrorName);
  PyCapsule_SetContext(error.ptr(), interop::this_library());
  m.attr("_set_error") = error;
}

}  // namespace traingraph::python
