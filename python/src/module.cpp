// SPDX-License-Identifier: MIT
// traingraph._core: the C++ API as Python objects. Private; the package's
// modules say what is public.
#include "bindings.h"

PYBIND11_MODULE(_core, m, pybind11::mod_gil_not_used()) {
  using namespace traingraph::python;
  m.doc() = "The C++ API of traingraph.";
  m.attr("__version__") = TRAINGRAPH_VERSION;
  bind_errors(m);
  bind_types(m);
  bind_device(m);
  bind_tensor(m);
  bind_layers(m);
  bind_losses(m);
  bind_optimizers(m);
  bind_execution(m);
  bind_graph(m);
  bind_ops(m);
  bind_compiled_graph(m);
  bind_training(m);
  bind_shutdown(m);
}
