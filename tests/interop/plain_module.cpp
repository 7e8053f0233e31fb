// SPDX-License-Identifier: MIT
// A module of the C API alone.
#include <chrono>

#include "traingraph/python.h"

namespace {

PyObject* rename(PyObject*, PyObject* object) {
  auto tensor = traingraph::from_python<traingraph::Tensor>(object);
  if (!tensor) return nullptr;  // with a Python error set
  tensor->set_name("renamed");
  return traingraph::to_python(*tensor);
}

PyObject* wait(PyObject*, PyObject* object) {
  const auto execution = traingraph::from_python<traingraph::Execution>(object);
  if (!execution) return nullptr;
  Py_BEGIN_ALLOW_THREADS;
  while (!execution->wait_for(std::chrono::seconds(1))) {
  }
  Py_END_ALLOW_THREADS;
  try {
    return PyFloat_FromDouble(execution->result().loss());
  } catch (...) {
    traingraph::set_python_error(std::current_exception());
    return nullptr;
  }
}

PyMethodDef methods[] = {
    {"rename", rename, METH_O, nullptr}, {"wait", wait, METH_O, nullptr}, {}};
PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "plain_module",
                          nullptr,
                          0,
                          methods,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_plain_module() { return PyModule_Create(&definition); }
