// SPDX-License-Identifier: MIT
// traingraph._core: the C++ API as Python objects. Private; the package's
// modules say what is public.
#include <cstring>

#include "bindings.h"

PYBIND11_MODULE(_core_of_main, m, pybind11::mod_gil_not_used()) {
  using namespace traingraph::python;
  m.doc() = "The C++ API of traingraph.";
  m.attr("__version__") = TRAINGRAPH_VERSION;
  bind_errors(m);
  bind_types(m);
  bind_bfloat16(m);
  bind_device(m);
  bind_optimizer_device_data(m);
  bind_tensor(m);
  bind_layers(m);
  bind_losses(m);
  bind_schedules(m);
  bind_optimizers(m);
  bind_execution(m);
  bind_collective(m);
  bind_ops(m);
  bind_graph(m);
  bind_checkpoint_types(m);
  bind_compiled_graph(m);
  bind_parameter_groups(m);
  bind_training(m);
  bind_nodes(m);
  bind_interop(m);
  bind_shutdown(m);
  bind_calls(m);
  forget_sequence(m);
}

/// Before pybind11 does anything, for in a subinterpreter it would hang.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" PYBIND11_EXPORT PyObject* PyInit__core() {
  const char* const loaded = traingraph::library_version();
  if (std::strcmp(loaded, TRAINGRAPH_VERSION) != 0) {
    return PyErr_Format(PyExc_ImportError,
                        "this process has loaded libtraingraph %s, and the "
                        "package is of version " TRAINGRAPH_VERSION
                        ": let both be of one version",
                        loaded);
  }
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) {
    return PyInit__core_of_main();
  }
  PyErr_SetString(PyExc_ImportError,
                  "traingraph does not support subinterpreters: device threads "
                  "call back into the main one. Use threads or processes.");
  return nullptr;
}
