// SPDX-License-Identifier: MIT
// Neurons as filter nodes.
#include "nodes.h"

namespace traingraph::python {
namespace {

using nodes::ImageNode;
using nodes::NeuronDescriptor;
using nodes::NeuronNode;

std::vector<float> to_floats(const std::optional<ArrayLike>& given) {
  if (!given) return {};
  const Context context{"prelu_data"};
  const py::array array = converted(*given, DataType::Float32, context);
  const auto* first = static_cast<const float*>(array.data());
  return {first, first + array.size()};
}

struct Given {
  std::optional<ArrayLike> prelu_data;
};

NeuronDescriptor described(NeuronDescriptor descriptor, const Given& given) {
  descriptor.prelu_data = to_floats(given.prelu_data);
  return descriptor;
}

void bind_neuron_descriptor(py::module_& m) {
  BoundClass<NeuronDescriptor> type(
      m, "NeuronDescriptor",
      "A function of one element; its formula is "
      "NeuronType's. prelu_data: one number per channel.");
  bind_value(type);
  def_init<NeuronDescriptor, Given>(
      type, "NeuronDescriptor", &described,
      required("type", &NeuronDescriptor::type), row("a", &NeuronDescriptor::a),
      row("b", &NeuronDescriptor::b), row("c", &NeuronDescriptor::c),
      row("prelu_data", &Given::prelu_data));
  type.def_readonly("type", &NeuronDescriptor::type)
      .def_readonly("a", &NeuronDescriptor::a)
      .def_readonly("b", &NeuronDescriptor::b)
      .def_readonly("c", &NeuronDescriptor::c)
      .def_readonly("prelu_data", &NeuronDescriptor::prelu_data);
}

template <class Node, class... Extra>
void bind_neuron(py::module_& m, const char* name, const char* doc,
                 const Extra&... extra) {
  if constexpr (sizeof...(Extra) == 0) {
    SimpleNode<Node, NeuronNode>::bind(m, name, doc);
  } else if constexpr (sizeof...(Extra) == 1) {
    SimpleNode<Node, NeuronNode, float>::bind(m, name, doc, extra...);
  } else if constexpr (sizeof...(Extra) == 2) {
    SimpleNode<Node, NeuronNode, float, float>::bind(m, name, doc, extra...);
  } else {
    SimpleNode<Node, NeuronNode, float, float, float>::bind(m, name, doc,
                                                            extra...);
  }
}

}  // namespace

void bind_node_neurons(py::module_& m) {
  bind_neuron_descriptor(m);
  BoundClass<NeuronNode, nodes::FilterNode> type(
      m, "NeuronNode",
      "A function of one element. Raises InvalidArgument for parameters that "
      "it does not take.");
  def_node(type, "NeuronNode", plain<ImageNode>("source"),
           plain<NeuronDescriptor>("descriptor"), py::kw_only());
  const auto build = [](const std::string& name, const ImageNode& source,
                        const NeuronDescriptor& descriptor,
                        const Given& given) {
    return make_node<NeuronNode>(name, source, described(descriptor, given));
  };
  def_named<NeuronDescriptor, Given>(
      type, "NeuronNode", build, plain<ImageNode>("source"),
      required("type", &NeuronDescriptor::type), row("a", &NeuronDescriptor::a),
      row("b", &NeuronDescriptor::b), row("c", &NeuronDescriptor::c),
      py::kw_only(), row("prelu_data", &Given::prelu_data));
  type.def_property_readonly("descriptor", &NeuronNode::descriptor);
  const auto a = [](double value) { return py::arg("a") = value; };
  const auto b = [](double value) { return py::arg("b") = value; };
  const auto c = [](double value) { return py::arg("c") = value; };
  bind_neuron<nodes::AbsoluteNode>(m, "AbsoluteNode",
                                   "|x|; the slope at 0 is 0.");
  bind_neuron<nodes::LinearNode>(m, "LinearNode", "a x + b", a(1), b(0));
  bind_neuron<nodes::ReLUNode>(m, "ReLUNode",
                               "x >= 0 ? x : a x; the slope at 0 is 1.", a(0));
  BoundClass<nodes::PReLUNode, NeuronNode>(
      m, "PReLUNode", "x >= 0 ? x : a x with an a per channel.")
      .def(py::init([](const ImageNode& source, const ArrayLike& data,
                       const std::string& name) {
             return make_node<nodes::PReLUNode>(name, source, to_floats(data));
           }),
           py::arg("source"), py::arg("data"), py::kw_only(),
           py::arg("name") = "");
  bind_neuron<nodes::ReLUNNode>(
      m, "ReLUNNode", "min(x >= 0 ? x : a x, b); the slope at b is 0.", a(1),
      b(6));
  bind_neuron<nodes::SigmoidNode>(m, "SigmoidNode", "1 / (1 + exp(-x))");
  bind_neuron<nodes::HardSigmoidNode>(
      m, "HardSigmoidNode",
      "clamp(a x + b, 0, 1); the slope at both ends is a.", a(0.2), b(0.5));
  bind_neuron<nodes::TanHNode>(m, "TanHNode", "a tanh(b x)", a(1), b(1));
  bind_neuron<nodes::SoftPlusNode>(m, "SoftPlusNode", "a ln(1 + exp(b x))",
                                   a(1), b(1));
  bind_neuron<nodes::SoftSignNode>(m, "SoftSignNode", "x / (1 + |x|)");
  bind_neuron<nodes::ELUNode>(m, "ELUNode", "x >= 0 ? x : a (exp(x) - 1)",
                              a(1));
  bind_neuron<nodes::PowerNode>(m, "PowerNode", "(a x + b)^c", py::arg("a"),
                                py::arg("b"), py::arg("c"));
  bind_neuron<nodes::ExponentialNode>(m, "ExponentialNode",
                                      "c^(a x + b); c = -1 stands for e.", a(1),
                                      b(0), c(-1));
  bind_neuron<nodes::LogarithmNode>(
      m, "LogarithmNode",
      "The logarithm of a x + b to base c; c = -1 stands for e.", a(1), b(0),
      c(-1));
  bind_neuron<nodes::GeLUNode>(m, "GeLUNode",
                               "x Phi(x), Phi the normal distribution.");
}

}  // namespace traingraph::python
