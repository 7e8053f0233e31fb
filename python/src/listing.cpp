// SPDX-License-Identifier: MIT
// The forward ops of a compiled graph as plain dicts and lists, for writers of
// other formats (traingraph/onnx).
#include <pybind11/stl.h>

#include "attributes.h"
#include "bindings.h"
#include "casters.h"
#include "signature.h"
#include "traingraph/graph_listing.h"
#include "traingraph/training_graph.h"

namespace traingraph::python {
namespace {

using namespace py::literals;

using ListingObject = Named<"dict[str, typing.Any]">;

py::dict to_dict(const ListedValue& value) {
  py::object tensor = py::none();
  if (value.tensor) tensor = py::cast(value.tensor);
  return py::dict(
      "name"_a = value.name, "shape"_a = value.descriptor.shape,
      "data_type"_a = std::string(to_string(value.descriptor.data_type)),
      "role"_a = std::string(value.role), "tensor"_a = tensor,
      "batch_axis"_a = value.batch_axis, "is_opaque"_a = value.is_opaque);
}

py::dict to_dict(const ListedNode& node) {
  return py::dict("op"_a = std::string(node.op),
                  "attributes"_a = attribute_values(node.attributes),
                  "name"_a = node.name, "inputs"_a = node.inputs,
                  "outputs"_a = node.outputs);
}

template <class Item>
py::list listed(const std::vector<Item>& items) {
  py::list list;
  for (const Item& item : items) list.append(to_dict(item));
  return list;
}

ListingObject listing(const CompiledGraph& self) {
  const GraphListing listing = without_gil([&] { return self.listing(); });
  std::map<std::string, std::string> losses(listing.losses.begin(),
                                            listing.losses.end());
  return ListingObject(
      py::dict("values"_a = listed(listing.values),
               "nodes"_a = listed(listing.nodes), "inputs"_a = listing.inputs,
               "labels"_a = listing.labels, "outputs"_a = listing.outputs,
               "result"_a = listing.result, "losses"_a = losses));
}

}  // namespace

void bind_listing(Handle<CompiledGraph, Graph>& graph) {
  graph.def("_listing", &listing,
            "The forward ops in inference form, values and declared names. "
            "Raises StateError before compile.");
}

}  // namespace traingraph::python
