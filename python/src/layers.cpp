// SPDX-License-Identifier: MIT
// Layers without weights; layers_weighted.cpp has the others.
#include "traingraph/layers.h"

#include "layers.h"
#include "rows.h"

namespace traingraph::python {
namespace {

void bind_layer(py::module_& m) {
  BoundClass<Layer, std::shared_ptr<Layer>>(
      m, "Layer", "Base of everything that Graph.node() takes.")
      .def_property_readonly("layer_id", &Layer::layer_id,
                             "Unique in the process.")
      .def_property(
          "name", [](const Layer& self) { return self.name(); },
          py::cpp_function(&Layer::set_name, py::call_guard<WithoutGil>()),
          "Unique in its graph; errors, reports and pictures use it, and "
          "parameters are named after it: \"fc.weights\". Without one a layer "
          "gets its class's with its first node: \"fully_connected_2\". Cannot "
          "be set after that.")
      .def_readwrite("is_debugging_enabled", &Layer::is_debugging_enabled,
                     "Are results and gradients readable, with "
                     "compile(debug_layers=True), after each execution.")
      .def_property("compute_type", &Layer::compute_type,
                    &Layer::set_compute_type,
                    "The float type that this layer computes in and gives its "
                    "results in, whatever compile(precision=) says; None: "
                    "what that says. Losses stay float32. Read by compile().")
      .def_property(
          "uses_inference_form", &Layer::uses_inference_form,
          [](const Layer& self, bool uses) { self.use_inference_form(uses); },
          "Does the layer compute in a training graph, too, as in an inference "
          "graph? Dropout then passes its source on, a normalization takes its "
          "running statistics and leaves them; parameters train as they would. "
          "Read by compile(). Default: False.\n\n"
          "Example:\n"
          "    >>> image = tg.Tensor((8, 3, 4, 4), name=\"image\")\n"
          "    >>> graph = tg.Graph()\n"
          "    >>> norm = tg.layers.BatchNormalization()\n"
          "    >>> h = graph.sequence(image, norm, tg.layers.Flatten())\n"
          "    >>> for layer in graph.layers:\n"
          "    ...     if isinstance(layer, tg.layers.BatchNormalization):\n"
          "    ...         layer.uses_inference_form = True")
      .def_property_readonly(
          "device_type", &Layer::device_type,
          "The type of the device that the last compile was for; None before.")
      .def_property_readonly("parameters", &Layer::parameters,
                             "What an optimizer may train, in a fixed order. "
                             "Raises StateError until the layer is built.")
      .def_property_readonly("statistics", &Layer::statistics,
                             "Running statistics.")
      .def_property_readonly("is_loss", &Layer::is_loss)
      .def_property_readonly("is_built", &Layer::is_built,
                             "Has it its parameters? Those of a layer without "
                             "all sizes are made by its first node; what has "
                             "or lists them raises StateError before.")
      .def_property_readonly("extra_sources", &Layer::extra_sources,
                             "Sources that the layer itself brings: the "
                             "weights of a loss.")
      .def("__repr__", [](const py::object& self) {
        return "<" +
               py::str(py::type::of(self).attr("__name__"))
                   .cast<std::string>() +
               " \"" + self.attr("name").cast<std::string>() + "\">";
      });
}

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
  BoundClass<Descriptor> type(
      m, "ActivationDescriptor",
      "A function and its parameters; those that are not "
      "given have the function's own defaults.");
  bind_value(type);
  type.def(py::init(&make_activation), py::arg("type"),
           py::arg("a") = py::none(), py::arg("b") = py::none(),
           py::arg("c") = py::none())
      .def_readonly("activation_type", &Descriptor::activation_type)
      .def_readonly("a", &Descriptor::a)
      .def_readonly("b", &Descriptor::b)
      .def_readonly("c", &Descriptor::c);
  using Class = layers::Activation;
  BoundClass<Class, Layer, std::shared_ptr<Class>>(
      m, "Activation", "y = f(x) for every element.")
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
      .def_property_readonly("descriptor", &Class::descriptor);
}

void bind_prelu(py::module_& m) {
  using Class = layers::PReLU;
  BoundClass<Class, Layer, std::shared_ptr<Class>>(
      m, "PReLU",
      "x > 0 ? x : w * x, with a slope that is trained: one for all elements, "
      "or one for each channel, axis 1. weights: (1), (C) or (1, C, 1, 1), "
      "else count of them with the value slope.")
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
      .def_property_readonly("weights", copied(&Class::weights))
      .def_property_readonly("weights_parameter", &Class::weights_parameter);
}

template <class Class, class... Parameters>
using NamedActivation = SimpleLayer<Class, layers::Activation, Parameters...>;

void bind_activations(py::module_& m) {
  using namespace layers;
  const py::arg a("a");
  NamedActivation<ReLU>::bind(m, "ReLU", "max(x, 0)");
  NamedActivation<ReLU6>::bind(m, "ReLU6", "min(max(x, 0), 6)");
  NamedActivation<LeakyReLU, float>::bind(m, "LeakyReLU",
                                          "x >= 0 ? x : slope * x",
                                          py::arg("negative_slope") = 0.01);
  NamedActivation<ReLUN, float, float>::bind(
      m, "ReLUN", "min(x >= 0 ? x : a * x, b)", a, py::arg("b"));
  NamedActivation<Affine, float, float>::bind(
      m, "Affine", "scale * x + bias; ML Compute's linear layer.",
      py::arg("scale"), py::arg("bias") = 0.0);
  NamedActivation<Sigmoid>::bind(m, "Sigmoid", "1 / (1 + exp(-x))");
  NamedActivation<HardSigmoid>::bind(m, "HardSigmoid",
                                     "clamp(0.2 * x + 0.5, 0, 1)");
  NamedActivation<Tanh>::bind(m, "Tanh", "tanh(x)");
  NamedActivation<Absolute>::bind(m, "Absolute", "|x|; the gradient at 0 is 0");
  NamedActivation<SoftPlus, float>::bind(
      m, "SoftPlus", "ln(1 + exp(beta * x)) / beta", py::arg("beta") = 1.0);
  NamedActivation<SoftSign>::bind(m, "SoftSign", "x / (1 + |x|)");
  NamedActivation<ELU, float>::bind(m, "ELU", "x >= 0 ? x : a * (exp(x) - 1)",
                                    py::arg("a") = 1.0);
  NamedActivation<LogSigmoid>::bind(m, "LogSigmoid", "ln(1 / (1 + exp(-x)))");
  NamedActivation<SELU>::bind(
      m, "SELU", "1.0507 * (max(0, x) + min(0, 1.6733 * (exp(x) - 1)))");
  NamedActivation<CELU, float>::bind(m, "CELU",
                                     "max(0, x) + min(0, a * (exp(x / a) - 1))",
                                     py::arg("a") = 1.0);
  NamedActivation<HardShrink, float>::bind(m, "HardShrink", "|x| > a ? x : 0",
                                           py::arg("a") = 0.5);
  NamedActivation<SoftShrink, float>::bind(m, "SoftShrink",
                                           "x > a ? x - a : x < -a ? x + a : 0",
                                           py::arg("a") = 0.5);
  NamedActivation<TanhShrink>::bind(m, "TanhShrink", "x - tanh(x)");
  NamedActivation<Threshold, float, float>::bind(
      m, "Threshold", "x > threshold ? x : replacement", py::arg("threshold"),
      py::arg("replacement"));
  NamedActivation<GELU, bool>::bind(m, "GELU",
                                    "x * Phi(x), by erf or its tanh form",
                                    py::arg("approximates_with_tanh") = false);
  NamedActivation<HardSwish>::bind(
      m, "HardSwish", "x <= -3 ? 0 : x >= 3 ? x : x * (x + 3) / 6");
  NamedActivation<Clamp, float, float>::bind(
      m, "Clamp", "min(max(x, min_value), max_value)", py::arg("min_value"),
      py::arg("max_value"));
  NamedActivation<SiLU>::bind(m, "SiLU", "x / (1 + exp(-x))");
  NamedActivation<Mish>::bind(m, "Mish", "x * tanh(ln(1 + exp(x)))");
  bind_prelu(m);
}

void bind_elementwise(py::module_& m) {
  using namespace layers;
  SimpleLayer<Arithmetic, Layer, ArithmeticOperation>::bind(
      m, "Arithmetic",
      "One source for unary operations, else x and y, broadcast.",
      py::arg("operation"))
      .def_property_readonly("operation", &Arithmetic::operation);
  SimpleLayer<Comparison, Layer, ComparisonOperation>::bind(
      m, "Comparison",
      "Sources x and y, broadcast (logical_not: x); the result is boolean.",
      py::arg("operation"))
      .def_property_readonly("operation", &Comparison::operation);
  SimpleLayer<Selection, Layer>::bind(
      m, "Selection", "Sources condition (boolean), x, y, broadcast.");
  SimpleLayer<Dropout, Layer, float, std::int64_t>::bind(
      m, "Dropout",
      "Training: drops elements with probability `rate`, scales the others by "
      "1 / (1 - rate). Seed 0 is the platform's.",
      py::arg("rate"), whole("seed") = 0)
      .def_property_readonly("rate", &Dropout::rate)
      .def_property_readonly("seed", &Dropout::seed);
  SimpleLayer<Softmax, Layer, SoftmaxOperation, std::int64_t>::bind(
      m, "Softmax", "exp(x) / sum(exp(x)) over one axis, or its logarithm.",
      py::arg("operation") = "softmax", whole("axis") = 1)
      .def_property_readonly("operation", &Softmax::operation)
      .def_property_readonly("axis", &Softmax::axis);
}

void bind_layout(py::module_& m) {
  using namespace layers;
  SimpleLayer<Reshape, Layer, Shape>::bind(
      m, "Reshape", "Same elements, other shape; one size may be -1.",
      py::arg("shape"))
      .def_property_readonly("shape", &Reshape::shape);
  SimpleLayer<Flatten, Layer>::bind(
      m, "Flatten",
      "(N, ...) -> (N, the number of elements of a sample), as fully connected "
      "layers want images.");
  SimpleLayer<Transpose, Layer, Shape>::bind(
      m, "Transpose", "Result axis k is source axis axes[k].", py::arg("axes"))
      .def_property_readonly("axes", &Transpose::axes);
  SimpleLayer<Upsample, Layer, Shape, SampleMode, bool>::bind(
      m, "Upsample",
      "Images (N, C, H, W) at the size `shape`, (height, width), or sequences "
      "(N, C, W) and rows of images at (width); any ratio.",
      py::arg("shape"), py::arg("sample_mode") = "nearest",
      py::arg("aligns_corners") = false)
      .def_property_readonly("shape", &Upsample::shape)
      .def_property_readonly("sample_mode", &Upsample::sample_mode)
      .def_property_readonly(
          "aligns_corners", &Upsample::aligns_corners,
          "Are the first and the last samples those of the source? Else the "
          "edges of the image are. For linear sampling.");
  SimpleLayer<Concatenation, Layer, std::int64_t>::bind(
      m, "Concatenation", "Sources of equal sizes but on `axis`.",
      whole("axis") = 1)
      .def_property_readonly("axis", &Concatenation::axis);
  SimpleLayer<Split, Layer, std::int64_t, std::int64_t>::bind(
      m, "Split",
      "Parts of ceil(size / split_count), or of split_section_lengths.",
      whole("split_count"), whole("axis"))
      .def(py::init([](const py::typing::List<py::int_>& lengths,
                       std::int64_t axis, const std::string& name) {
             return make_layer<Split>(name, lengths.cast<Shape>(), axis);
           }),
           py::arg("split_section_lengths"), whole("axis"), py::kw_only(),
           py::arg("name") = "")
      .def_property_readonly("axis", &Split::axis)
      .def_property_readonly("split_count", &Split::split_count)
      .def_property_readonly("split_section_lengths",
                             &Split::split_section_lengths);
  SimpleLayer<Slice, Layer, Shape, Shape, Shape>::bind(
      m, "Slice", "Half-open ranges with positive strides, one per axis.",
      py::arg("start"), py::arg("end"), py::arg("stride") = py::tuple())
      .def_property_readonly("start", &Slice::start)
      .def_property_readonly("end", &Slice::end)
      .def_property_readonly("stride", &Slice::stride);
}

std::vector<std::int64_t> list_of(const Shape& sizes) {
  return {sizes.begin(), sizes.end()};
}

template <class Class>
void bind_padding_of(py::module_& m, const char* name, const char* doc) {
  BoundClass<Class, layers::Padding, std::shared_ptr<Class>>(m, name, doc)
      .def(py::init([](const Shape& padding, const std::string& name) {
             return make_layer<Class>(name, list_of(padding));
           }),
           py::arg("padding"), py::kw_only(), py::arg("name") = "");
}

void bind_padding(py::module_& m) {
  using Class = layers::Padding;
  BoundClass<Class, Layer, std::shared_ptr<Class>>(
      m, "Padding",
      "Pads height and width by one size, (left, right), or (top, bottom, "
      "left, right).")
      .def(py::init([](PaddingType type, const Shape& padding, float value,
                       const std::string& name) {
             return make_layer<Class>(name, type, list_of(padding), value);
           }),
           py::arg("padding_type"), py::arg("padding"),
           py::arg("constant_value") = 0.0, py::kw_only(), py::arg("name") = "")
      .def_property_readonly("padding_type", &Class::padding_type)
      .def_property_readonly("padding_top", &Class::padding_top)
      .def_property_readonly("padding_bottom", &Class::padding_bottom)
      .def_property_readonly("padding_left", &Class::padding_left)
      .def_property_readonly("padding_right", &Class::padding_right)
      .def_property_readonly("constant_value", &Class::constant_value);
  bind_padding_of<layers::ZeroPadding>(m, "ZeroPadding", "Pads with zeros.");
  bind_padding_of<layers::ReflectionPadding>(
      m, "ReflectionPadding", "Mirrors, without the border sample.");
  bind_padding_of<layers::SymmetricPadding>(m, "SymmetricPadding",
                                            "Mirrors, with the border sample.");
  bind_padding_of<layers::ReplicationPadding>(m, "ReplicationPadding",
                                              "Repeats the border sample.");
  using Constant = layers::ConstantPadding;
  BoundClass<Constant, Class, std::shared_ptr<Constant>>(m, "ConstantPadding",
                                                         "Pads with one value.")
      .def(py::init(
               [](const Shape& padding, float value, const std::string& name) {
                 return make_layer<Constant>(name, list_of(padding), value);
               }),
           py::arg("padding"), py::arg("constant_value"), py::kw_only(),
           py::arg("name") = "");
}

void bind_reduction(py::module_& m) {
  using Class = layers::Reduction;
  SimpleLayer<Class, Layer, ReductionType, Shape>::bind(
      m, "Reduction", "Reduced axes stay with size 1; no axes are all of them.",
      py::arg("reduction_type"), py::arg("axes") = py::tuple())
      .def_property_readonly("reduction_type", &Class::reduction_type)
      .def_property_readonly("axes", &Class::axes);
}

template <class Class>
void bind_data_types_of() {
  const py::type type = py::type::of<Class>();
  type.attr("supports_data_type") = py::staticmethod(py::cpp_function(
      [](DataType data_type, const DeviceLike& device) {
        return Class::supports_data_type(data_type, to_device(device));
      },
      py::name("supports_data_type"), py::scope(type), py::arg("data_type"),
      py::arg("device"),
      "May a source of a layer of this class have this type on this device? "
      "Layer answers for all: may a source of any layer?"));
}

template <class... Classes>
void bind_data_types() {
  (bind_data_types_of<Classes>(), ...);
}

}  // namespace

void bind_layers(py::module_& m) {
  bind_layer(m);
  bind_activation_base(m);
  bind_activations(m);
  bind_elementwise(m);
  bind_layout(m);
  bind_padding(m);
  bind_reduction(m);
  bind_window_layers(m);
  bind_weighted_layers(m);
  bind_gather_layers(m);
  bind_recurrent_layers(m);
  bind_attention_layers(m);
  bind_normalization_layers(m);
  bind_sequential(m);
  using namespace layers;
  bind_data_types<Layer, Activation, Arithmetic, BatchNormalization, Comparison,
                  Concatenation, Convolution, Dropout, Embedding, Flatten,
                  FullyConnected, Gather, GramMatrix, GroupNormalization,
                  InstanceNormalization, LayerNormalization, LSTM, MatMul,
                  MultiheadAttention, layers::Padding, Pooling, PReLU,
                  Reduction, Reshape, Scatter, Selection, Slice, Softmax, Split,
                  Transpose, Upsample>();
}

}  // namespace traingraph::python
