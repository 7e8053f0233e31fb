// SPDX-License-Identifier: MIT
// Activations: one class for each function, and one for all.
#include "layers.h"
#include "rows.h"
#include "traingraph/layers.h"

namespace traingraph::python {
namespace {

constexpr const char* kActivationDescriptorDoc = R"pbdoc(
    A function of one element, and its parameters.

    Args:
        type: The function, such as "relu", "tanh" or "gelu".
        a: Its first parameter; None: the function's own default.
        b: Its second parameter; None: the function's own default.
        c: Used by no function.

    Raises:
        InvalidArgument: for an unknown type, and parameters that it cannot take.
)pbdoc";

constexpr const char* kActivationDoc = R"pbdoc(
    ``y = f(x)`` for every element; any shape -> the same shape.

    Args:
        activation_type: The function, such as "relu"; ReLU, GELU and others are classes.
        a: Its first parameter; None: the function's own default.
        b: Its second parameter; None: the function's own default.
        c: Used by no function.
        descriptor: An ActivationDescriptor, in place of all these.
        name: Names the layer in its graph; see Layer.name.

    Raises:
        InvalidArgument: for an unknown type, and parameters that it cannot take.

    Example:
        >>> g, x = tg.Graph(), tg.Tensor((64, 16))
        >>> g.node(tg.layers.Activation("elu", a=0.5), x).shape
        (64, 16)
)pbdoc";

constexpr const char* kPReLUDoc = R"pbdoc(
    ``y = x > 0 ? x : weights * x``, with slopes that are trained.

    Any shape -> the same shape: one slope for all elements, or one for each channel,
    axis 1.

    Args:
        count: How many slopes there are: 1, or the number of channels.
        slope: What they are at first.
        weights: The slopes as an array or a tensor, in place of these: (1), (C) or
            (1, C, 1, 1).
        name: Names the layer in its graph, and its parameters; see Layer.name.

    Raises:
        InvalidArgument: for a count below 1.
        ShapeError: for slopes of another shape; from node(), where they are neither one
            nor as many as the channels.

    Example:
        >>> g, image = tg.Graph(), tg.Tensor((8, 16, 32, 32))
        >>> prelu = tg.layers.PReLU(16)
        >>> g.node(prelu, image).shape, prelu.weights.shape
        ((8, 16, 32, 32), (16,))
)pbdoc";

ActivationDescriptor make_activation(ActivationType type,
                                     std::optional<float> a,
                                     std::optional<float> b,
                                     std::optional<float> c) {
  const ActivationDescriptor defaults(type);
  return {type, a.value_or(defaults.a), b.value_or(defaults.b),
          c.value_or(defaults.c)};
}

void bind_activation_base(py::module_& m) {
  using Descriptor = ActivationDescriptor;
  BoundClass<Descriptor> type(m, "ActivationDescriptor",
                              kActivationDescriptorDoc);
  bind_value(type);
  type.def(py::init(&make_activation), py::arg("type"),
           py::arg("a") = py::none(), py::arg("b") = py::none(),
           py::arg("c") = py::none())
      .def_readonly("activation_type", &Descriptor::activation_type,
                    "The function.")
      .def_readonly("a", &Descriptor::a)
      .def_readonly("b", &Descriptor::b)
      .def_readonly("c", &Descriptor::c);
  using Class = layers::Activation;
  BoundClass<Class, Layer, std::shared_ptr<Class>>(m, "Activation",
                                                   kActivationDoc)
      .def(py::init([](const Descriptor& descriptor, const std::string& name) {
             return make_layer<Class>(name, descriptor);
           }),
           py::arg("descriptor"), py::kw_only(), py::arg("name") = "")
      .def(py::init([](ActivationType type, std::optional<float> a,
                       std::optional<float> b, std::optional<float> c,
                       const std::string& name) {
             return make_layer<Class>(name, make_activation(type, a, b, c));
           }),
           py::arg("activation_type"), py::arg("a") = py::none(),
           py::arg("b") = py::none(), py::arg("c") = py::none(), py::kw_only(),
           py::arg("name") = "")
      .def_property_readonly("descriptor", &Class::descriptor,
                             "The function and its parameters.");
}

void bind_prelu(py::module_& m) {
  using Class = layers::PReLU;
  BoundClass<Class, Layer, std::shared_ptr<Class>>(m, "PReLU", kPReLUDoc)
      .def(py::init(
               [](std::int64_t count, float slope, const std::string& name) {
                 return make_layer<Class>(name, count, slope);
               }),
           whole("count") = 1, py::arg("slope") = 0.25, py::kw_only(),
           py::arg("name") = "")
      .def(py::init([](const TensorOrArray& weights, const std::string& name) {
             return make_layer<Class>(name, to_tensor(weights, "weights"));
           }),
           py::kw_only(), py::arg("weights"), py::arg("name") = "")
      .def_property_readonly("weights", copied(&Class::weights),
                             "The slopes; trained.")
      .def_property_readonly("weights_parameter", &Class::weights_parameter,
                             "weights with their state in training.");
}

/// What activations of a name have in common.
template <class Class, class... Parameters>
struct NamedActivation {
  /// `call` is how the example makes one, `arguments` the lines of Args: and
  /// what comes behind.
  template <class... Extra>
  static void bind(py::module_& m, const std::string& name, const char* formula,
                   const char* call, const char* arguments,
                   const Extra&... extra) {
    std::string doc = std::string("``y = ") + formula +
                      "`` for every element; any shape -> the same shape.\n";
    if (*arguments) doc += std::string("\nArgs:\n") + arguments;
    doc +=
        "\nExample:\n"
        "    >>> g, x = tg.Graph(), tg.Tensor((64, 16))\n"
        "    >>> g.sequence(x, tg.layers.FullyConnected(8), tg.layers." +
        name + call + ").shape\n    (64, 8)";
    SimpleLayer<Class, layers::Activation, Parameters...>::bind(
        m, name.c_str(), doc.c_str(), extra...);
  }
};

void bind_activations(py::module_& m) {
  using namespace layers;
  constexpr const char* kNone = "";
  NamedActivation<ReLU>::bind(m, "ReLU", "max(x, 0)", "()", kNone);
  NamedActivation<ReLU6>::bind(m, "ReLU6", "min(max(x, 0), 6)", "()", kNone);
  NamedActivation<LeakyReLU, float>::bind(
      m, "LeakyReLU", "x >= 0 ? x : negative_slope * x", "(0.1)",
      "    negative_slope: The slope below 0.\n",
      py::arg("negative_slope") = 0.01);
  NamedActivation<ReLUN, float, float>::bind(
      m, "ReLUN", "min(x >= 0 ? x : a * x, b)", "(0.1, 6)",
      "    a: The slope below 0.\n    b: The largest value.\n", py::arg("a"),
      py::arg("b"));
  NamedActivation<Affine, float, float>::bind(
      m, "Affine", "scale * x + bias", "(2, bias=1)",
      "    scale: The factor.\n    bias: What is added.\n", py::arg("scale"),
      py::arg("bias") = 0.0);
  NamedActivation<Sigmoid>::bind(m, "Sigmoid", "1 / (1 + exp(-x))", "()",
                                 kNone);
  NamedActivation<HardSigmoid>::bind(
      m, "HardSigmoid", "min(max(0.2 * x + 0.5, 0), 1)", "()", kNone);
  NamedActivation<Tanh>::bind(m, "Tanh", "tanh(x)", "()", kNone);
  NamedActivation<Absolute>::bind(m, "Absolute", "|x|", "()", kNone);
  NamedActivation<SoftPlus, float>::bind(
      m, "SoftPlus", "ln(1 + exp(beta * x)) / beta", "()",
      "    beta: How sharp the bend is, above 0.\n"
      "\nRaises:\n    InvalidArgument: for a beta that is not above 0.\n",
      py::arg("beta") = 1.0);
  NamedActivation<SoftSign>::bind(m, "SoftSign", "x / (1 + |x|)", "()", kNone);
  NamedActivation<ELU, float>::bind(
      m, "ELU", "x >= 0 ? x : a * (exp(x) - 1)", "()",
      "    a: Below 0 the result tends to -a.\n", py::arg("a") = 1.0);
  NamedActivation<LogSigmoid>::bind(m, "LogSigmoid", "ln(1 / (1 + exp(-x)))",
                                    "()", kNone);
  NamedActivation<SELU>::bind(
      m, "SELU", "1.0507 * (max(0, x) + min(0, 1.6733 * (exp(x) - 1)))", "()",
      kNone);
  NamedActivation<CELU, float>::bind(
      m, "CELU", "max(0, x) + min(0, a * (exp(x / a) - 1))", "()",
      "    a: Below 0 the result tends to -a; not 0.\n"
      "\nRaises:\n    InvalidArgument: for an a of 0.\n",
      py::arg("a") = 1.0);
  NamedActivation<HardShrink, float>::bind(
      m, "HardShrink", "|x| > a ? x : 0", "()",
      "    a: What is no larger becomes 0; not below 0.\n"
      "\nRaises:\n    InvalidArgument: for an a below 0.\n",
      py::arg("a") = 0.5);
  NamedActivation<SoftShrink, float>::bind(
      m, "SoftShrink", "x > a ? x - a : x < -a ? x + a : 0", "()",
      "    a: By how much numbers come closer to 0; not below 0.\n"
      "\nRaises:\n    InvalidArgument: for an a below 0.\n",
      py::arg("a") = 0.5);
  NamedActivation<TanhShrink>::bind(m, "TanhShrink", "x - tanh(x)", "()",
                                    kNone);
  NamedActivation<Threshold, float, float>::bind(
      m, "Threshold", "x > threshold ? x : replacement", "(0.1, 0)",
      "    threshold: What is above it stays.\n"
      "    replacement: What all else becomes.\n",
      py::arg("threshold"), py::arg("replacement"));
  NamedActivation<GELU, bool>::bind(
      m, "GELU", "x * (1 + erf(x / sqrt(2))) / 2", "()",
      "    approximates_with_tanh: Is it x * (1 + tanh(sqrt(2 / pi) * (x + "
      "0.044715 * x^3))) / 2?\n",
      py::arg("approximates_with_tanh") = false);
  NamedActivation<HardSwish>::bind(m, "HardSwish",
                                   "x <= -3 ? 0 : x >= 3 ? x : x * (x + 3) / 6",
                                   "()", kNone);
  NamedActivation<Clamp, float, float>::bind(
      m, "Clamp", "min(max(x, min_value), max_value)", "(-1, 1)",
      "    min_value: The smallest value.\n"
      "    max_value: The largest value, no smaller.\n"
      "\nRaises:\n    InvalidArgument: for a max_value below min_value.\n",
      py::arg("min_value"), py::arg("max_value"));
  NamedActivation<SiLU>::bind(m, "SiLU", "x / (1 + exp(-x))", "()", kNone);
  NamedActivation<Mish>::bind(m, "Mish", "x * tanh(ln(1 + exp(x)))", "()",
                              kNone);
}

}  // namespace

void bind_activation_layers(py::module_& m) {
  bind_activation_base(m);
  bind_activations(m);
  bind_prelu(m);
}

}  // namespace traingraph::python
