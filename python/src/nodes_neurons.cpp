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

constexpr const char* kNeuronDescriptorDoc = R"pbdoc(
    A function of one element, for NeuronNode.

    Args:
        type: Which function: NeuronType has the names and formulas.
        a: Its first parameter; 0 where it has none.
        b: Its second.
        c: Its third.
        prelu_data: The slopes of "prelu", one for each channel.

    Example:
        >>> relu = tg.nodes.NeuronDescriptor("relu", a=0.1)
        >>> image = tg.nodes.ImageNode("image", (4, 8, 8))
        >>> tg.nodes.NeuronNode(image, relu).result_image.size
        (4, 8, 8)
)pbdoc";

constexpr const char* kNeuronNodeDoc = R"pbdoc(
    A function of each element, by its descriptor or its type.

    The nodes of one function each have the defaults of MPSNN; here parameters
    are 0.

    Args:
        source: The image that the filter reads, (channels, height, width).
        descriptor: The function and its parameters.
        type: Which function: NeuronType has the names and formulas.
        a: Its first parameter.
        b: Its second.
        c: Its third.
        prelu_data: The slopes of "prelu", one for each channel.

    Raises:
        InvalidArgument: for parameters that the function does not take.

    Example:
        >>> image = tg.nodes.ImageNode("image", (4, 8, 8))
        >>> tg.nodes.NeuronNode(image, "relu", a=0.1).result_image.size
        (4, 8, 8)
)pbdoc";

constexpr const char* kPReLUDoc = R"pbdoc(
    ``x >= 0 ? x : a * x`` with an a of each channel; the slope at 0 is 1.

    Args:
        source: The image that the filter reads, (channels, height, width).
        data: The a, one for each channel.

    Example:
        >>> image = tg.nodes.ImageNode("image", (2, 8, 8))
        >>> tg.nodes.PReLUNode(image, [0.1, 0.2]).result_image.size
        (2, 8, 8)
)pbdoc";

void bind_neuron_descriptor(py::module_& m) {
  BoundClass<NeuronDescriptor> type(m, "NeuronDescriptor",
                                    kNeuronDescriptorDoc);
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
void bind_neuron(py::module_& m, const char* name, const NodeDoc& doc,
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
  BoundClass<NeuronNode, nodes::FilterNode> type(m, "NeuronNode",
                                                 kNeuronNodeDoc);
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
  type.def_property_readonly("descriptor", &NeuronNode::descriptor,
                             "The function and its parameters.");
  const auto a = [](double value, const char* doc) {
    return explained(py::arg("a") = value, doc);
  };
  const auto b = [](double value, const char* doc) {
    return explained(py::arg("b") = value, doc);
  };
  const auto c = explained(py::arg("c") = -1.0, "The base; -1 stands for e.");
  constexpr const char* kFactor = "Multiplies x.";
  constexpr const char* kOffset = "Is added to it.";
  constexpr const char* kNegative = "The slope where x is below 0.";
  constexpr const char* kHeight = "Multiplies the result.";
  bind_neuron<nodes::AbsoluteNode>(
      m, "AbsoluteNode", {"``|x|`` of each element; the slope at 0 is 0."});
  bind_neuron<nodes::LinearNode>(m, "LinearNode",
                                 {"``a * x + b`` of each element.", ", a=2.0"},
                                 a(1, kFactor), b(0, kOffset));
  bind_neuron<nodes::ReLUNode>(
      m, "ReLUNode",
      {"``x >= 0 ? x : a * x`` of each element; the slope at 0 is 1.",
       ", a=0.1"},
      a(0, kNegative));
  BoundClass<nodes::PReLUNode, NeuronNode> prelu(m, "PReLUNode", kPReLUDoc);
  prelu.def(py::init([](const ImageNode& source, const ArrayLike& data,
                        const std::string& name) {
              return make_node<nodes::PReLUNode>(name, source, to_floats(data));
            }),
            py::arg("source"), py::arg("data"), py::kw_only(),
            py::arg("name") = "");
  add_arguments(prelu, py::dict(py::arg("name") = kNodeNameDoc));
  bind_neuron<nodes::ReLUNNode>(m, "ReLUNNode",
                                {"``min(x >= 0 ? x : a * x, b)`` of each "
                                 "element; the slope at 0 is 1, at "
                                 "b 0.",
                                 ", a=0.0"},
                                a(1, kNegative), b(6, "The largest result."));
  bind_neuron<nodes::SigmoidNode>(m, "SigmoidNode",
                                  {"``1 / (1 + exp(-x))`` of each element."});
  bind_neuron<nodes::HardSigmoidNode>(
      m, "HardSigmoidNode",
      {"``clamp(a * x + b, 0, 1)`` of each element; the slope at both ends is "
       "a."},
      a(0.2, kFactor), b(0.5, kOffset));
  bind_neuron<nodes::TanHNode>(m, "TanHNode",
                               {"``a * tanh(b * x)`` of each element."},
                               a(1, kHeight), b(1, kFactor));
  bind_neuron<nodes::SoftPlusNode>(
      m, "SoftPlusNode", {"``a * ln(1 + exp(b * x))`` of each element."},
      a(1, kHeight), b(1, kFactor));
  bind_neuron<nodes::SoftSignNode>(m, "SoftSignNode",
                                   {"``x / (1 + |x|)`` of each element."});
  bind_neuron<nodes::ELUNode>(
      m, "ELUNode", {"``x >= 0 ? x : a * (exp(x) - 1)`` of each element."},
      a(1, "Its negative is the limit of the result below 0."));
  bind_neuron<nodes::PowerNode>(
      m, "PowerNode",
      {"``(a * x + b)^c`` of each element.", ", a=1.0, b=0.0, c=2.0"},
      explained(py::arg("a"), kFactor), explained(py::arg("b"), kOffset),
      explained(py::arg("c"), "The exponent."));
  bind_neuron<nodes::ExponentialNode>(
      m, "ExponentialNode",
      {"``c^(a * x + b)`` of each element; by default ``exp(x)``."},
      a(1, kFactor), b(0, kOffset), c);
  bind_neuron<nodes::LogarithmNode>(m, "LogarithmNode",
                                    {"The logarithm of ``a * x + b``, of each "
                                     "element; by default ``ln(x)``."},
                                    a(1, kFactor), b(0, kOffset), c);
  bind_neuron<nodes::GeLUNode>(
      m, "GeLUNode",
      {"``x * Phi(x)`` of each element, Phi the normal distribution."});
}

}  // namespace traingraph::python
