// SPDX-License-Identifier: MIT
// Graph: nodes, and looking at it.
#include "traingraph/graph.h"

#include <pybind11/stl.h>

#include "bindings.h"
#include "casters.h"

namespace traingraph::python {
namespace {

using Labels = std::optional<std::vector<Tensor>>;
using LayerHolder = std::shared_ptr<Layer>;

Tensor add_node(Graph& self, const LayerHolder& layer,
                const std::vector<Tensor>& sources, bool disable_update,
                const Labels& loss_labels) {
  return without_gil([&] {
    return self.node(
        layer, sources,
        {.disable_update = disable_update,
         .loss_labels = loss_labels.value_or(std::vector<Tensor>())});
  });
}

/// Layers are handed out as what Python gave in.
std::vector<LayerHolder> layers_of(const Graph& self) {
  std::vector<LayerHolder> result;
  for (const LayerPtr& layer : without_gil([&] { return self.layers(); })) {
    result.push_back(std::const_pointer_cast<Layer>(layer));
  }
  return result;
}

constexpr const char* kNodeDoc =
    "Adds a node and returns its first result; result_tensors(layer) has all, "
    "as of a layer that splits or that returns its states.\n\n"
    "disable_update: the optimizer skips this layer's parameters; gradients "
    "still flow. loss_labels: labels of a loss layer. Raises ShapeError, "
    "DTypeError or InvalidArgument naming the layer, StateError when the graph "
    "was compiled.";

}  // namespace

void bind_graph(py::module_& m) {
  Handle<Graph> graph(
      m, "Graph",
      "Which layer consumes which tensors. Training and inference graphs made "
      "of it share its parameters.");
  graph.def(py::init<>())
      .def(
          "node",
          [](Graph& self, const LayerHolder& layer, const Tensor& source,
             bool disable_update, const Labels& loss_labels) {
            return add_node(self, layer, {source}, disable_update, loss_labels);
          },
          py::arg("layer").none(false), py::arg("source"),
          py::arg("disable_update") = false,
          py::arg("loss_labels") = py::none(), kNodeDoc)
      .def("node", &add_node, py::arg("layer").none(false), py::arg("sources"),
           py::arg("disable_update") = false,
           py::arg("loss_labels") = py::none(), kNodeDoc);
  bind_sequence(graph);
  graph
      .def_property_readonly(
          "ops", [](const Graph& self) { return Ops{self}; },
          "Ops that add a node to this graph: graph.ops.softmax(x, axis=1).")
      .def_property_readonly("layers", &layers_of,
                             "Every layer once, in the order of its first "
                             "node.")
      .def("source_tensors", &Graph::source_tensors, py::arg("layer"),
           "Empty for a layer that is not in the graph.")
      .def("result_tensors", &Graph::result_tensors, py::arg("layer"),
           "Empty for a layer that is not in the graph.")
      .def_property_readonly("device", &Graph::device,
                             "Device it was compiled for, or None.")
      .def_property_readonly("summarized_dot_description",
                             &Graph::summarized_dot_description,
                             "Graphviz text; dashed edges: stopped gradient.")
      .def("__eq__",
           [](const Graph& self, const py::object& other) {
             return py::isinstance<Graph>(other) &&
                    self == other.cast<const Graph&>();
           })
      .def("__hash__", [](const Graph& self) {
        return std::hash<const void*>()(self.state().get());
      });
}

}  // namespace traingraph::python
