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

constexpr const char* kNodeDoc = R"pbdoc(
        Adds a node: a layer applied to tensors.

        Sizes that a layer was not given are those of its sources, and its
        parameters exist from then on.

        Args:
            layer: of tg.layers or tg.losses; the same one may be of several
                nodes, which share its parameters.
            source: what it reads.
            sources: the same of a layer that reads several tensors.
            disable_update: the optimizer skips the layer's parameters;
                gradients still flow.
            loss_labels: of a loss layer, the tensors that follow the source:
                labels, then weights, or lengths.

        Returns:
            The first result. result_tensors(layer) has all, as of a layer that
            splits or that returns its states.

        Raises:
            ShapeError: a source of another shape than the layer takes.
            DTypeError: a source of another type.
            InvalidArgument: options that do not go with the sources.
            StateError: a graph that is made of this one is compiled.

        Example:
            >>> graph = tg.Graph()
            >>> h = graph.node(tg.layers.FullyConnected(16), x)
            >>> graph.node(tg.layers.Concatenation(), [h, x]).shape
            (8, 20)
)pbdoc";

}  // namespace

void bind_graph(py::module_& m) {
  Handle<Graph> graph(m, "Graph",
                      R"pbdoc(
        Which layer reads which tensors.

        Training and inference graphs that are made of it share its parameters.
        node() and sequence() add layers, `ops` has what they are made of, and
        operators and methods of results add nodes, too: docs/expressions.md.

        Example:
            >>> graph = tg.Graph()
            >>> h = graph.node(tg.layers.FullyConnected(2, name="fc"), x)
            >>> scaled = h * 0.5 + 1
            >>> [layer.name for layer in graph.layers][0]
            'fc'
      )pbdoc");
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
           py::arg("loss_labels") = py::none(),
           "The same of a layer that reads several tensors.");
  bind_sequence(graph);
  graph
      .def_property_readonly(
          "ops", [](const Graph& self) { return Ops{self}; },
          R"pbdoc(
        Ops that add a node to this graph, such as graph.ops.softmax(x, axis=1).
      )pbdoc")
      .def_property_readonly(
          "layers", &layers_of<Graph>,
          "Every layer once, in the order of its first node.")
      .def("source_tensors", &Graph::source_tensors, py::arg("layer"),
           R"pbdoc(
        The tensors that a layer reads.

        Args:
            layer: a layer.

        Returns:
            Of all its nodes, in their order; empty when it is not in the graph.

        Raises:
            CallError: no layer.

        Example:
            >>> graph.source_tensors(graph.layers[0]) == [x]
            True
      )pbdoc")
      .def("result_tensors", &Graph::result_tensors, py::arg("layer"),
           R"pbdoc(
        The results of a layer.

        Args:
            layer: a layer.

        Returns:
            Of all its nodes, in their order; empty when it is not in the graph.

        Raises:
            CallError: no layer.

        Example:
            >>> graph.result_tensors(graph.layers[0]) == [h]
            True
      )pbdoc")
      .def_property_readonly(
          "device", &Graph::device,
          "The device that it was compiled for; None before.")
      .def_property_readonly("summarized_dot_description",
                             &Graph::summarized_dot_description,
                             R"pbdoc(
        The graph as Graphviz text; edges without a gradient are dashed.
      )pbdoc")
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
