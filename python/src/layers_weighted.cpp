// SPDX-License-Identifier: MIT
// Layers with parameters, and the matrix product.
#include "layers.h"
#include "rows.h"
#include "traingraph/layers.h"

namespace traingraph::python {
namespace {

/// What the forms of a convolution's descriptor, and of a layer, have besides.
struct ConvolutionWindow {
  OptionalPair padding_sizes, kernel_size;
  PaddingSpec padding;
  std::int64_t channel_multiplier = 1;
};

void bind_descriptor_fields(BoundClass<ConvolutionDescriptor>& type) {
  type.def_readonly("convolution_type",
                    &ConvolutionDescriptor::convolution_type)
      .def_readonly("input_feature_channel_count",
                    &ConvolutionDescriptor::input_feature_channel_count)
      .def_readonly("output_feature_channel_count",
                    &ConvolutionDescriptor::output_feature_channel_count)
      .def_readonly("group_count", &ConvolutionDescriptor::group_count)
      .def_property_readonly("is_convolution_transpose",
                             &ConvolutionDescriptor::is_convolution_transpose)
      .def_property_readonly(
          "uses_depthwise_convolution",
          &ConvolutionDescriptor::uses_depthwise_convolution);
  bind_window_fields(type);
}

void bind_convolution_descriptor(py::module_& m) {
  BoundClass<ConvolutionDescriptor> type(
      m, "ConvolutionDescriptor", "Pairs are (height, width), or one integer.");
  const auto kernel =
      required("kernel_size", &ConvolutionDescriptor::kernel_size);
  const auto in = required("input_feature_channel_count",
                           &ConvolutionDescriptor::input_feature_channel_count);
  const auto out =
      required("output_feature_channel_count",
               &ConvolutionDescriptor::output_feature_channel_count);
  const auto groups = row("group_count", &ConvolutionDescriptor::group_count);
  const auto with_window = [&](const auto& def) {
    def(row("strides", &ConvolutionDescriptor::strides),
        row("dilation_rates", &ConvolutionDescriptor::dilation_rates),
        row("padding_policy", &ConvolutionDescriptor::padding_policy),
        row("padding_sizes", &ConvolutionWindow::padding_sizes));
  };
  const auto padded = [](ConvolutionDescriptor descriptor,
                         const ConvolutionWindow& window) {
    descriptor.padding_sizes = padding_sizes_of(
        "Convolution", descriptor.padding_policy, window.padding_sizes);
    return descriptor;
  };
  const auto def_static = [&](const char* name, const char* doc, auto make,
                              const auto&... items) {
    type.def_static(
        name,
        made_of<ConvolutionDescriptor, ConvolutionWindow>(name, make, items...),
        rows::keyword(items)..., doc);
  };
  with_window([&](const auto&... window) {
    def_init<ConvolutionDescriptor, ConvolutionWindow>(
        type, "ConvolutionDescriptor",
        [padded](const ConvolutionDescriptor& options,
                 const ConvolutionWindow& given) {
          const ConvolutionDescriptor descriptor = padded(options, given);
          descriptor.validate();
          return descriptor;
        },
        kernel, in, out, py::kw_only(),
        row("type", &ConvolutionDescriptor::convolution_type), groups,
        window...);
    type.def(py::init([](std::int64_t in, std::int64_t out) {
               ConvolutionDescriptor descriptor{
                   .kernel_size = kOnes,
                   .input_feature_channel_count = in,
                   .output_feature_channel_count = out};
               descriptor.validate();
               descriptor.kernel_size = {};
               return descriptor;
             }),
             py::kw_only(), rows::keyword(in), rows::keyword(out),
             "Describes a FullyConnected layer.");
    def_static(
        "transposed", "",
        [padded](const ConvolutionDescriptor& options,
                 const ConvolutionWindow& given) {
          return ConvolutionDescriptor::transposed(padded(options, given));
        },
        kernel, in, out, py::kw_only(), groups, window...);
    def_static(
        "depthwise", "Output channels are input * multiplier.",
        [padded](const ConvolutionDescriptor& options,
                 const ConvolutionWindow& given) {
          return ConvolutionDescriptor::depthwise(padded(options, given),
                                                  given.channel_multiplier);
        },
        kernel, in,
        row("channel_multiplier", &ConvolutionWindow::channel_multiplier),
        py::kw_only(), window...);
  });
  bind_descriptor_fields(type);
}

void bind_weighted_base(py::module_& m) {
  using Class = layers::WeightedLayer;
  BoundClass<Class, Layer, std::shared_ptr<Class>>(
      m, "WeightedLayer", "A layer with weights and optional biases.")
      .def_property_readonly("weights", copied(&Class::weights))
      .def_property_readonly("biases", or_none(&Class::biases))
      .def_property_readonly("weights_parameter", &Class::weights_parameter)
      .def_property_readonly("biases_parameter",
                             or_none(&Class::biases_parameter));
}

template <class Class>
using Weighted =
    BoundClass<Class, layers::WeightedLayer, std::shared_ptr<Class>>;

/// Calls def(the rows that every layer with weights ends with).
template <class Def>
void with_weights(Def def) {
  def(row("weights", &WeightOptions::weights),
      row("biases", &WeightOptions::biases),
      row("initializer", &WeightOptions::initializer),
      row("uses_biases", &WeightOptions::uses_biases));
}

void bind_convolution(py::module_& m) {
  using Class = layers::Convolution;
  Weighted<Class> type(
      m, "Convolution",
      "(N, in, H, W) -> (N, out, H', W'); standard, depthwise or "
      "transposed.\n\n"
      "Weights are (out, in / groups, height, width) or, with the same bytes, "
      "(1, out * in / groups, height, width); biases (out) or (1, out, 1, 1). "
      "Those not given are created, with `initializer` (Glorot uniform) and "
      "zeros. The kernel size is required. padding: \"same\", \"valid\", one "
      "integer "
      "or (y, x).\n\nConvolution(out, kernel) has the input channels of its "
      "source: its first node makes the parameters. Raises InvalidArgument, "
      "ShapeError or DTypeError.");
  const auto build =
      [](const std::string& name, ConvolutionDescriptor descriptor,
         const ConvolutionWindow& given, const WeightOptions& options) {
        descriptor.kernel_size = given.kernel_size.value_or(Pair{});
        descriptor.padding_policy = given.padding.policy;
        descriptor.padding_sizes = given.padding.sizes;
        return make_layer<Class>(name, descriptor, options);
      };
  const auto build_of_source =
      [build](const std::string& name, const Pair& kernel_size,
              const ConvolutionDescriptor& descriptor, ConvolutionWindow given,
              const WeightOptions& options) {
        given.kernel_size = kernel_size;
        return build(name, descriptor, given, options);
      };
  const auto build_of_sizes =
      [build](const std::string& name, const ConvolutionDescriptor& descriptor,
              const ConvolutionWindow& given, const WeightOptions& options) {
        require_given("Convolution", "input_feature_channel_count",
                      descriptor.input_feature_channel_count);
        return build(name, descriptor, given, options);
      };
  with_weights([&](const auto&... weights) {
    def_layer<WeightOptions>(type, "Convolution",
                             plain<ConvolutionDescriptor>("descriptor"),
                             py::kw_only(), weights...);
    const auto def_window = [&](const auto& build, const auto&... sizes) {
      def_named<ConvolutionDescriptor, ConvolutionWindow, WeightOptions>(
          type, "Convolution", build, sizes..., py::kw_only(),
          row("padding", &ConvolutionWindow::padding),
          row("strides", &ConvolutionDescriptor::strides),
          row("dilation_rates", &ConvolutionDescriptor::dilation_rates),
          row("group_count", &ConvolutionDescriptor::group_count),
          row("convolution_type", &ConvolutionDescriptor::convolution_type),
          weights...);
    };
    const auto outputs =
        required("output_feature_channel_count",
                 &ConvolutionDescriptor::output_feature_channel_count);
    // Before the one with three sizes, whose kernel may be left out.
    def_window(build_of_source, outputs, plain<Pair>("kernel_size"));
    def_window(build_of_sizes,
               required("input_feature_channel_count",
                        &ConvolutionDescriptor::input_feature_channel_count),
               outputs, row("kernel_size", &ConvolutionWindow::kernel_size));
  });
  type.def_property_readonly("descriptor", &Class::descriptor);
}

void bind_fully_connected(py::module_& m) {
  using Class = layers::FullyConnected;
  Weighted<Class> type(
      m, "FullyConnected",
      "y = x W^T + b: (*, in) -> (*, out), and (N, in, 1, 1) -> (N, out, 1, "
      "1).\n\nWeights are (out, in), or with the same bytes (out * in), biases "
      "(out), each with axes of size 1 wherever: (1, out * in, 1, 1), (1, "
      "out). Those not given are created, with `initializer` (Glorot uniform) "
      "and zeros. A descriptor is that of a 1 x 1 convolution; its "
      "kernel_size may be left out, or be (in, out), as programs for ML "
      "Compute have it.\n\nFullyConnected(out) has the input channels of its "
      "source, those of the last axis, or of axis 1 of (N, in, 1, 1): its "
      "first node makes the parameters. Raises InvalidArgument, ShapeError or "
      "DTypeError.");
  with_weights([&](const auto&... weights) {
    def_layer<WeightOptions>(type, "FullyConnected",
                             plain<ConvolutionDescriptor>("descriptor"),
                             py::kw_only(), weights...);
    def_layer<WeightOptions>(
        type, "FullyConnected",
        plain<std::int64_t>("input_feature_channel_count"),
        plain<std::int64_t>("output_feature_channel_count"), py::kw_only(),
        weights...);
    def_layer<WeightOptions>(
        type, "FullyConnected",
        plain<std::int64_t>("output_feature_channel_count"), py::kw_only(),
        weights...);
  });
  type.def(py::init([](const TensorOrArray& weights,
                       const std::optional<TensorOrArray>& biases,
                       bool uses_biases, const std::string& name) {
             return make_layer<Class>(name, to_tensor(weights, "weights"),
                                      to_tensor(biases, "biases"), uses_biases);
           }),
           py::kw_only(), py::arg("weights"), py::arg("biases") = py::none(),
           py::arg("uses_biases") = true, py::arg("name") = "")
      .def_property_readonly("descriptor", &Class::descriptor);
}

void bind_lora(py::module_& m) {
  using Class = layers::LoRA;
  SimpleLayer<Class, Layer, std::shared_ptr<layers::FullyConnected>,
              std::int64_t, float>::
      bind(
          m, "LoRA",
          "y = base(x) + alpha / rank * x down^T up^T: a FullyConnected layer "
          "of a "
          "trained network learns something new by few parameters (Hu et al. "
          "2021).\n\ndown is (rank, in), uniform within 1 / sqrt(in); up is "
          "(out, "
          "rank), zeros: at first the layer is its base, whose parameters are "
          "frozen and keep their names. save(path, trained_only=True) writes "
          "what "
          "has changed; merged() is a FullyConnected layer that does the same.",
          py::arg("base"), whole("rank"), py::arg("alpha"))
          .def_property_readonly("base", &Class::base)
          .def_property_readonly("rank", &Class::rank)
          .def_property_readonly("alpha", &Class::alpha)
          .def_property_readonly("down", copied(&Class::down))
          .def_property_readonly("up", copied(&Class::up))
          .def(
              "merged",
              [](const Class& self) {
                return made_without_gil([&] { return self.merged(); });
              },
              "A FullyConnected layer with weights + alpha / rank * up down, "
              "of "
              "their newest values.");
}

void bind_matmul(py::module_& m) {
  using Class = layers::MatMul;
  using Product = MatMulDescriptor;
  const auto alpha = row("alpha", &Product::alpha);
  const auto x = row("transposes_x", &Product::transposes_x);
  const auto y = row("transposes_y", &Product::transposes_y);
  bind_descriptor<Product>(m, "MatMulDescriptor", "WeightOptions of MatMul.",
                           alpha, x, y);
  BoundClass<Class, Layer, std::shared_ptr<Class>> type(
      m, "MatMul",
      "alpha * op(X) * op(Y) over the last two axes of sources X and Y; "
      "leading axes broadcast.");
  def_layer(type, "MatMul", plain<Product>("descriptor"), py::kw_only());
  def_layer<Product>(type, "MatMul", alpha, x, y, py::kw_only());
  type.def_property_readonly("descriptor", &Class::descriptor);
  SimpleLayer<layers::GramMatrix, Layer, float>::bind(
      m, "GramMatrix",
      "(N, C, H, W) -> (N, C, 1, C): scale times the products of all pairs of "
      "channels, summed over the image.",
      py::arg("scale") = 1.0)
      .def_property_readonly("scale", &layers::GramMatrix::scale);
}

}  // namespace

void bind_weighted_layers(py::module_& m) {
  bind_convolution_descriptor(m);
  bind_weighted_base(m);
  bind_convolution(m);
  bind_fully_connected(m);
  bind_lora(m);
  bind_matmul(m);
}

}  // namespace traingraph::python
