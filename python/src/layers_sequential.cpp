// SPDX-License-Identifier: MIT
// Chains of layers: Sequential, and Graph.sequence().
#include <pybind11/typing.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "calls.h"
#include "errors.h"
#include "layers.h"
#include "lifetime.h"
#include "traingraph/graph.h"
#include "traingraph/layers/sequential.h"

namespace traingraph::python {
namespace {

using LayerHolder = std::shared_ptr<Layer>;
using AnyStep = py::typing::Union<Layer, py::typing::Callable<Tensor(Tensor)>>;

[[noreturn]] void fail(const char* call, std::size_t index,
                       const std::string& expected, const py::handle& item) {
  std::string hint;
  if (PyType_Check(item.ptr()) != 0) {
    hint = "Make one: " + item.attr("__name__").cast<std::string>() + "().";
  } else if (py::isinstance<Tensor>(item)) {
    hint = "Several sources of a layer are a list: node(layer, [x, lengths]).";
  }
  throw CallError(
      ErrorInfo{.op = call,
                .what = "item " + std::to_string(index) + " has another type",
                .expected = expected,
                .got = describe(item),
                .hint = hint});
}

/// Calls `function` with the GIL.
Tensor call(const py::object& function, const Tensor& source) {
  Tensor result;
  with_gil([&] {
    const py::object returned = function(source);
    if (py::isinstance<Tensor>(returned)) {
      result = returned.cast<Tensor>();
      return;
    }
    throw CallError(ErrorInfo{.op = "sequence",
                              .what = "a function returned another type",
                              .expected = "a Tensor",
                              .got = describe(returned),
                              .hint = "It takes a tensor and returns one."});
  });
  return result;
}

SequenceStep step_of(const py::handle& item, std::size_t index) {
  if (py::isinstance<Layer>(item)) return LayerPtr(item.cast<LayerHolder>());
  if (PyType_Check(item.ptr()) || !PyCallable_Check(item.ptr())) {
    fail("sequence", index, "a layer or a function of a tensor", item);
  }
  return TensorFunction(
      [function = py::reinterpret_borrow<py::object>(item)](
          const Tensor& source) { return call(function, source); });
}

std::shared_ptr<layers::Sequential> make_sequential(
    const py::Args<Layer>& args) {
  std::vector<LayerPtr> all;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (!py::isinstance<Layer>(args[i])) {
      fail("Sequential", i, "a layer", args[i]);
    }
    all.push_back(py::object(args[i]).cast<LayerHolder>());
  }
  return std::make_shared<layers::Sequential>(std::move(all));
}

constexpr const char* kSequentialDoc = R"pbdoc(
    Layers that follow each other, as one layer.

    The first gets the sources, every other one the first result before, and loss_labels
    go to the last. node() and sequence() add a node for each, and those may be Sequential themselves. It
    is no layer of the graph: those in it are, under their own names. len(), an index and
    iteration give the layers.

    Args:
        args: The layers, one or more.

    Raises:
        InvalidArgument: without a layer.
        CallError: for what is no layer.

    Example:
        >>> block = tg.layers.Sequential(tg.layers.FullyConnected(8), tg.layers.ReLU())
        >>> g, x = tg.Graph(), tg.Tensor((64, 16))
        >>> g.node(block, x).shape, len(block)
        ((64, 8), 2)
)pbdoc";

/// Returns the layer as Python gave it in.
LayerHolder layer_at(const layers::Sequential& self, std::int64_t index) {
  const auto count = static_cast<std::int64_t>(self.layers().size());
  const std::int64_t at = index < 0 ? index + count : index;
  if (at < 0 || at >= count) throw py::index_error("no such layer");
  return std::const_pointer_cast<Layer>(
      self.layers()[static_cast<std::size_t>(at)]);
}

}  // namespace

void bind_sequential(py::module_& m) {
  using Class = layers::Sequential;
  BoundClass<Class, Layer, std::shared_ptr<Class>>(m, "Sequential",
                                                   kSequentialDoc)
      .def(py::init(&make_sequential))
      .def("__len__", [](const Class& self) { return self.layers().size(); })
      .def("__getitem__", &layer_at, whole("index"))
      .def("__iter__", [](const Class& self) -> py::typing::Iterator<Layer> {
        py::list all;
        for (const LayerPtr& layer : self.layers()) {
          all.append(std::const_pointer_cast<Layer>(layer));
        }
        return py::iter(all);
      });
}

void bind_sequence(Handle<Graph>& graph) {
  graph.def(
      "sequence",
      [](Graph& self, const Tensor& source, const py::Args<AnyStep>& layers) {
        std::vector<SequenceStep> steps;
        for (std::size_t i = 0; i < layers.size(); ++i) {
          steps.push_back(step_of(layers[i], i));
        }
        return without_gil([&] { return self.sequence(source, steps); });
      },
      py::arg("source"),
      R"pbdoc(
        A chain of nodes: each layer reads the result before.

        Args:
            source: what the first layer reads.
            args: layers, tg.layers.Sequential, or functions that take a tensor
                and return one.

        Returns:
            The last one's first result; the source without layers.

        Raises:
            Error: what node() raises, with the place of the layer; the nodes
                before it stay.
            CallError: no layer and no function.

        Example:
            >>> graph = tg.Graph()
            >>> h = graph.sequence(
            ...     x, tg.layers.FullyConnected(16), tg.layers.ReLU(),
            ...     lambda h: h - h.mean(axis=1, keepdims=True),
            ... )
            >>> h.shape
            (8, 16)
      )pbdoc");
}

}  // namespace traingraph::python
