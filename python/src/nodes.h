// SPDX-License-Identifier: MIT
// What the files of the filter nodes share. Nodes keep the GIL: they wait for
// nothing, and what they ask a data source comes back to Python.
#pragma once

#include <array>
#include <concepts>
#include <optional>
#include <string>
#include <utility>

#include "docstrings.h"
#include "rows.h"
#include "traingraph/nodes.h"

namespace traingraph::python {

/// The parts of bind_nodes, in their order.
void bind_node_base(py::module_& m);
void bind_node_weights(py::module_& m);  // convolutions, normalizations
void bind_node_pooling(py::module_& m);
void bind_node_neurons(py::module_& m);
void bind_node_contrast(py::module_& m);
void bind_node_arithmetic(py::module_& m);
void bind_node_structure(py::module_& m);
void bind_node_losses(py::module_& m);
void bind_node_graph(py::module_& m);

/// A PaddingPolicy, or the name of its extent.
struct NodePadding {
  nodes::PaddingPolicy policy;
};
inline py::object default_of(const NodePadding& padding) {
  const bool is_valid = padding.policy.extent == PaddingExtent::ValidOnly;
  return py::str(is_valid ? "valid" : "same");
}

inline constexpr const char* kNodeNameDoc =
    "Errors, reports and pictures use it; empty: that of the class, with a "
    "number in the graph.";
template <std::derived_from<nodes::FilterNode> Node>
inline constexpr const char* kNameDocOf<Node> = kNodeNameDoc;

inline constexpr const char* kSourceDoc =
    "The image that the filter reads, (channels, height, width).";

/// The docstring of a filter: what it computes, and the call of an example, of
/// an image (4, 8, 8), with the size of the result.
struct NodeDoc {
  const char* text;
  const char* arguments = "";
  const char* size = "(4, 8, 8)";
  const char* source = "image";

  std::string of(const char* name) const {
    return std::string(text) +
           "\n\nExample:\n"
           "    >>> image = tg.nodes.ImageNode(\"image\", (4, 8, 8))\n"
           "    >>> tg.nodes." +
           name + "(" + source + arguments + ").result_image.size\n    " +
           size + "\n";
  }
};

/// An argument, and what it is.
template <class Arg>
struct Explained {
  Arg arg;
  const char* doc;
};
template <class Arg>
Explained<Arg> explained(const Arg& arg, const char* doc) {
  return {arg, doc};
}

/// A node with a name when one is given.
template <class Node, class... Args>
Node make_node(const std::string& name, Args&&... args) {
  Node node(std::forward<Args>(args)...);
  if (!name.empty()) node.set_name(name);
  return node;
}

/// The constructor of a filter from plain values and parts.
template <class... Parts, class Class, class... Items>
void def_node(Class& type, const char* op, const Items&... items) {
  const auto build = [](const std::string& name, const auto&... all) {
    return make_node<typename Class::type>(name, all...);
  };
  def_named<Parts...>(type, op, build, items...);
}
/// A class with one.
template <class Node, class... Parts, class... Items>
BoundClass<Node, nodes::FilterNode> bind_filter_of(py::module_& m,
                                                   const char* name,
                                                   const NodeDoc& doc,
                                                   const Items&... items) {
  BoundClass<Node, nodes::FilterNode> type(m, name, doc.of(name).c_str());
  def_node<Parts...>(type, name, items...);
  return type;
}

/// Binds a filter of one source whose keywords are its constructor's
/// parameters.
template <class Node, class Base, class... Parameters>
struct SimpleNode {
  using Class = BoundClass<Node, Base>;

  template <class... Extra>
  static Class bind(py::module_& m, const char* name, const NodeDoc& doc,
                    const Explained<Extra>&... extra) {
    Class type(m, name, doc.of(name).c_str());
    type.def(py::init([](const nodes::ImageNode& source,
                         Parameters... parameters, const std::string& name) {
               return make_node<Node>(name, source, parameters...);
             }),
             py::arg("source"), extra.arg..., py::kw_only(),
             py::arg("name") = "");
    py::dict arguments(py::arg("source") = kSourceDoc);
    ((arguments[extra.arg.name] = extra.doc), ...);
    arguments["name"] = kNodeNameDoc;
    add_arguments(type, arguments);
    return type;
  }
};

}  // namespace traingraph::python

namespace pybind11::detail {

template <>
class type_caster<traingraph::python::Triple> {
 public:
  PYBIND11_TYPE_CASTER(traingraph::python::Triple,
                       io_name("collections.abc.Sequence[int]",
                               "tuple[int, int, int]"));
  bool load(handle source, bool) {
    std::vector<std::int64_t> sizes;
    if (!PySequence_Check(source.ptr())) return false;
    if (!traingraph::python::load_integers(source, sizes)) return false;
    if (sizes.size() != 3) return false;
    value.values = {sizes[0], sizes[1], sizes[2]};
    return true;
  }
  static handle cast(const traingraph::python::Triple& source,
                     return_value_policy, handle) {
    return traingraph::python::to_tuple(source.values.data(),
                                        source.values.data() + 3)
        .release();
  }
};

template <>
class type_caster<traingraph::nodes::ImageSize> {
 public:
  PYBIND11_TYPE_CASTER(traingraph::nodes::ImageSize,
                       io_name("collections.abc.Sequence[int]",
                               "tuple[int, int, int]"));
  bool load(handle source, bool convert) {
    type_caster<traingraph::python::Triple> triple;
    if (!triple.load(source, convert)) return false;
    const auto& sizes = static_cast<traingraph::python::Triple&>(triple).values;
    value = {sizes[0], sizes[1], sizes[2]};
    return true;
  }
  static handle cast(const traingraph::nodes::ImageSize& source,
                     return_value_policy policy, handle parent) {
    return type_caster<traingraph::python::Triple>::cast(
        {{source.feature_channels, source.height, source.width}}, policy,
        parent);
  }
};

template <>
class type_caster<traingraph::python::NodePadding> {
 public:
  PYBIND11_TYPE_CASTER(traingraph::python::NodePadding,
                       const_name("traingraph._core.NodePaddingPolicy | "
                                  "traingraph._core.PaddingExtent | "
                                  "typing.Literal['same', 'valid', 'full']"));
  bool load(handle source, bool convert) {
    using traingraph::nodes::PaddingPolicy;
    if (isinstance<PaddingPolicy>(source)) {
      value.policy = source.cast<PaddingPolicy>();
      return true;
    }
    if (PyUnicode_Check(source.ptr()) &&
        source.cast<std::string>() == "valid") {
      value.policy = {.extent = traingraph::PaddingExtent::ValidOnly};
      return true;
    }
    type_caster<traingraph::PaddingExtent> extent;
    if (!extent.load(source, convert)) return false;
    value.policy = {.extent = static_cast<traingraph::PaddingExtent&>(extent)};
    return true;
  }
};

}  // namespace pybind11::detail
