// SPDX-License-Identifier: MIT
// Layers with parameters, and the matrix product.
#include "arrays.h"
#include "layers.h"
#include "traingraph/layers.h"

namespace traingraph::python {
namespace {

using Given = std::optional<TensorOrArray>;

WeightOptions weight_options(const Given& weights, const Given& biases,
                             std::optional<RandomInitializerType> initializer,
                             bool uses_biases) {
  return {.weights = to_tensor(weights, "weights"),
          .biases = to_tensor(biases, "biases"),
          .initializer = initializer,
          .uses_biases = uses_biases};
}

ConvolutionDescriptor convolution_descriptor(
    Pair kernel_sizes, std::int64_t in, std::int64_t out,
    std::int64_t group_count, Pair strides, Pair dilation_rates,
    PaddingPolicy policy, const OptionalPair& padding_sizes) {
  return {
      .kernel_sizes = kernel_sizes,
      .input_feature_channel_count = in,
      .output_feature_channel_count = out,
      .group_count = group_count,
      .strides = strides,
      .dilation_rates = dilation_rates,
      .padding_policy = policy,
      .padding_sizes = padding_sizes_of("Convolution", policy, padding_sizes)};
}

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
  const py::arg kernel("kernel_sizes");
  const py::arg in = whole("input_feature_channel_count");
  const py::arg out = whole("output_feature_channel_count");
  with_window_arguments([&](const auto&... window) {
    type.def(
        py::init([](Pair kernel_sizes, std::int64_t in, std::int64_t out,
                    ConvolutionType type, std::int64_t group_count,
                    Pair strides, Pair dilation_rates, PaddingPolicy policy,
                    const OptionalPair& padding_sizes) {
          ConvolutionDescriptor descriptor = convolution_descriptor(
              kernel_sizes, in, out, group_count, strides, dilation_rates,
              policy, padding_sizes);
          descriptor.convolution_type = type;
          descriptor.validate();
          return descriptor;
        }),
        kernel, in, out, py::kw_only(), py::arg("type") = "standard",
        whole("group_count") = 1, window...);
    type.def(py::init([](std::int64_t in, std::int64_t out) {
               ConvolutionDescriptor descriptor{
                   .kernel_sizes = kOnes,
                   .input_feature_channel_count = in,
                   .output_feature_channel_count = out};
               descriptor.validate();
               descriptor.kernel_sizes = {};
               return descriptor;
             }),
             py::kw_only(), in, out, "Of a FullyConnected layer.");
    type.def_static(
        "transposed",
        [](Pair kernel_sizes, std::int64_t in, std::int64_t out,
           std::int64_t group_count, Pair strides, Pair dilation_rates,
           PaddingPolicy policy, const OptionalPair& padding_sizes) {
          return ConvolutionDescriptor::transposed(convolution_descriptor(
              kernel_sizes, in, out, group_count, strides, dilation_rates,
              policy, padding_sizes));
        },
        kernel, in, out, py::kw_only(), whole("group_count") = 1, window...);
    type.def_static(
        "depthwise",
        [](Pair kernel_sizes, std::int64_t in, std::int64_t channel_multiplier,
           Pair strides, Pair dilation_rates, PaddingPolicy policy,
           const OptionalPair& padding_sizes) {
          return ConvolutionDescriptor::depthwise(
              convolution_descriptor(kernel_sizes, in, /*out=*/0,
                                     /*group_count=*/1, strides, dilation_rates,
                                     policy, padding_sizes),
              channel_multiplier);
        },
        kernel, in, whole("channel_multiplier") = 1, py::kw_only(), window...,
        "Output channels are input * multiplier.");
  });
  bind_descriptor_fields(type);
}

void bind_weighted_base(py::module_& m) {
  using Class = layers::WeightedLayer;
  BoundClass<Class, Layer, std::shared_ptr<Class>>(
      m, "WeightedLayer", "A layer with weights and optional biases.")
      .def_property_readonly("weights",
                             [](const Class& self) { return self.weights(); })
      .def_property_readonly(
          "biases", [](const Class& self) { return optional(self.biases()); })
      .def_property_readonly("weights_parameter", &Class::weights_parameter)
      .def_property_readonly("biases_parameter", [](const Class& self) {
        return optional(self.biases_parameter());
      });
}

// The tail of every constructor of a layer with weights.
#define TRAINGRAPH_WEIGHT_PARAMETERS                                      \
  const Given &weights, const Given &biases,                              \
      std::optional<RandomInitializerType> initializer, bool uses_biases, \
      const std::string &label
#define TRAINGRAPH_WEIGHT_ARGUMENTS                                   \
  py::arg("weights") = py::none(), py::arg("biases") = py::none(),    \
  py::arg("initializer") = py::none(), py::arg("uses_biases") = true, \
  py::arg("label") = ""
#define TRAINGRAPH_WEIGHT_OPTIONS \
  weight_options(weights, biases, initializer, uses_biases)

void bind_convolution(py::module_& m) {
  using Class = layers::Convolution;
  BoundClass<Class, layers::WeightedLayer, std::shared_ptr<Class>>(
      m, "Convolution",
      "(N, in, H, W) -> (N, out, H', W'); standard, depthwise or "
      "transposed.\n\n"
      "Weights are (out, in / groups, height, width) or, with the same bytes, "
      "(1, out * in / groups, height, width); biases (out) or (1, out, 1, 1). "
      "Those not given are created, with `initializer` (Glorot uniform) and "
      "zeros. The kernel size is required. padding: \"same\", \"valid\", one "
      "integer "
      "or (y, x). Raises InvalidArgument, ShapeError or DTypeError.")
      .def(py::init([](const ConvolutionDescriptor& descriptor,
                       TRAINGRAPH_WEIGHT_PARAMETERS) {
             return make_layer<Class>(label, descriptor,
                                      TRAINGRAPH_WEIGHT_OPTIONS);
           }),
           py::arg("descriptor"), py::kw_only(), TRAINGRAPH_WEIGHT_ARGUMENTS)
      .def(py::init([](std::int64_t in, std::int64_t out,
                       const OptionalPair& kernel_size,
                       const PaddingSpec& padding, const OptionalPair& strides,
                       Pair dilation_rates, std::int64_t group_count,
                       ConvolutionType type, const OptionalPair& kernel_sizes,
                       const OptionalPair& stride,
                       TRAINGRAPH_WEIGHT_PARAMETERS) {
             const ConvolutionDescriptor descriptor{
                 .convolution_type = type,
                 .kernel_sizes =
                     one_of("Convolution", "kernel_size", kernel_size,
                            "kernel_sizes", kernel_sizes, Pair{}),
                 .input_feature_channel_count = in,
                 .output_feature_channel_count = out,
                 .group_count = group_count,
                 .strides = one_of("Convolution", "strides", strides, "stride",
                                   stride, kOnes),
                 .dilation_rates = dilation_rates,
                 .padding_policy = padding.policy,
                 .padding_sizes = padding.sizes};
             return make_layer<Class>(label, descriptor,
                                      TRAINGRAPH_WEIGHT_OPTIONS);
           }),
           whole("input_feature_channel_count"),
           whole("output_feature_channel_count"),
           py::arg("kernel_size") = py::none(), py::kw_only(),
           py::arg("padding") = "same", py::arg("strides") = py::none(),
           py::arg("dilation_rates") = kOnes, whole("group_count") = 1,
           py::arg("convolution_type") = "standard",
           py::arg("kernel_sizes") = py::none(), py::arg("stride") = py::none(),
           TRAINGRAPH_WEIGHT_ARGUMENTS)
      .def_property_readonly("descriptor", &Class::descriptor);
}

void bind_fully_connected(py::module_& m) {
  using Class = layers::FullyConnected;
  BoundClass<Class, layers::WeightedLayer, std::shared_ptr<Class>>(
      m, "FullyConnected",
      "y = x W^T + b: (*, in) -> (*, out), and (N, in, 1, 1) -> (N, out, 1, "
      "1).\n\nWeights are (out, in), or with the same bytes (out * in), biases "
      "(out), each with axes of size 1 wherever: (1, out * in, 1, 1), (1, "
      "out). Those not given are created, with `initializer` (Glorot uniform) "
      "and zeros. A descriptor is that of a 1 x 1 convolution; its "
      "kernel_sizes may be left out, or be (in, out), as programs for ML "
      "Compute have it.")
      .def(py::init([](const ConvolutionDescriptor& descriptor,
                       TRAINGRAPH_WEIGHT_PARAMETERS) {
             return make_layer<Class>(label, descriptor,
                                      TRAINGRAPH_WEIGHT_OPTIONS);
           }),
           py::arg("descriptor"), py::kw_only(), TRAINGRAPH_WEIGHT_ARGUMENTS)
      .def(py::init([](std::int64_t in, std::int64_t out,
                       TRAINGRAPH_WEIGHT_PARAMETERS) {
             return make_layer<Class>(label, in, out,
                                      TRAINGRAPH_WEIGHT_OPTIONS);
           }),
           whole("input_feature_channel_count"),
           whole("output_feature_channel_count"), py::kw_only(),
           TRAINGRAPH_WEIGHT_ARGUMENTS)
      .def(py::init([](const TensorOrArray& weights, const Given& biases,
                       bool uses_biases, const std::string& label) {
             return make_layer<Class>(label, to_tensor(weights, "weights"),
                                      to_tensor(biases, "biases"), uses_biases);
           }),
           py::kw_only(), py::arg("weights"), py::arg("biases") = py::none(),
           py::arg("uses_biases") = true, py::arg("label") = "")
      .def_property_readonly("descriptor", &Class::descriptor);
}

void bind_lora(py::module_& m) {
  using Class = layers::LoRA;
  BoundClass<Class, Layer, std::shared_ptr<Class>>(
      m, "LoRA",
      "y = base(x) + alpha / rank * x down^T up^T: a FullyConnected layer of a "
      "trained network learns something new by few parameters (Hu et al. "
      "2021).\n\ndown is (rank, in), uniform within 1 / sqrt(in); up is (out, "
      "rank), zeros: at first the layer is its base, whose parameters are "
      "frozen and keep their names. save(path, trained_only=True) writes what "
      "has changed; merged() is a FullyConnected layer that does the same.")
      .def(py::init([](const std::shared_ptr<layers::FullyConnected>& base,
                       std::int64_t rank, float alpha,
                       const std::string& label) {
             return make_layer<Class>(label, base, rank, alpha);
           }),
           py::arg("base"), whole("rank"), py::arg("alpha"), py::kw_only(),
           py::arg("label") = "")
      .def_property_readonly("base", &Class::base)
      .def_property_readonly("rank", &Class::rank)
      .def_property_readonly("alpha", &Class::alpha)
      .def_property_readonly("down",
                             [](const Class& self) { return self.down(); })
      .def_property_readonly("up", [](const Class& self) { return self.up(); })
      .def(
          "merged",
          [](const Class& self) {
            return made_without_gil([&] { return self.merged(); });
          },
          "A FullyConnected layer with weights + alpha / rank * up down, of "
          "their newest values.");
}

void bind_matmul(py::module_& m) {
  BoundClass<MatMulDescriptor> type(m, "MatMulDescriptor");
  bind_value(type);
  type.def(py::init([](float alpha, bool transposes_x, bool transposes_y) {
             return MatMulDescriptor{alpha, transposes_x, transposes_y};
           }),
           py::arg("alpha") = 1.0, py::arg("transposes_x") = false,
           py::arg("transposes_y") = false)
      .def_readonly("alpha", &MatMulDescriptor::alpha)
      .def_readonly("transposes_x", &MatMulDescriptor::transposes_x)
      .def_readonly("transposes_y", &MatMulDescriptor::transposes_y);
  using Class = layers::MatMul;
  BoundClass<Class, Layer, std::shared_ptr<Class>>(
      m, "MatMul",
      "alpha * op(X) * op(Y) over the last two axes of sources X and Y; "
      "leading axes broadcast.")
      .def(py::init([](const MatMulDescriptor& descriptor,
                       const std::string& label) {
             return make_layer<Class>(label, descriptor);
           }),
           py::arg("descriptor"), py::kw_only(), py::arg("label") = "")
      .def(py::init([](float alpha, bool transposes_x, bool transposes_y,
                       const std::string& label) {
             return make_layer<Class>(
                 label, MatMulDescriptor{alpha, transposes_x, transposes_y});
           }),
           py::arg("alpha") = 1.0, py::arg("transposes_x") = false,
           py::arg("transposes_y") = false, py::kw_only(),
           py::arg("label") = "")
      .def_property_readonly("descriptor", &Class::descriptor);
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
