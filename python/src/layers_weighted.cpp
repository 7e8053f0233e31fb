// SPDX-License-Identifier: MIT
// Layers with parameters, and the matrix product.
#include "layers.h"
#include "rows.h"
#include "traingraph/layers.h"

namespace traingraph::python {
namespace {

constexpr const char* kConvolutionDescriptorDoc = R"pbdoc(
    The options of Convolution and FullyConnected, as ML Compute has them.

    Pairs are (height, width), or one integer for both. With both channel counts and no
    kernel it describes a FullyConnected layer.

    Raises:
        InvalidArgument: for counts, sizes, strides and rates below 1, for a
            group_count that does not divide both counts, and for the policy
            "use_padding_size" without sizes.
)pbdoc";

constexpr const char* kConvolutionDoc = R"pbdoc(
    Convolution of images or sequences: standard, grouped, depthwise or transposed.

    (N, in, H, W) -> (N, out, H', W')::

        y[n, o, i, j] = biases[o] + sum over c, u, v of weights[o, c, u, v]
            * x[n, c, i * stride + u * dilation - top, j * stride + v * dilation - left]

    A transposed one adds weights * x[n, c, i, j] to the window of y instead.

    (N, in, L) -> (N, out, L') is an image of one row; the kernel's height is 1 then.
    With k' = (kernel - 1) * dilation + 1 the extents are ::

        padding   convolution                             transposed
        "same"    ceil(in / stride)                       in * stride
        "valid"   floor((in - k') / stride) + 1           (in - 1) * stride + k'
        p         floor((in + 2 p - k') / stride) + 1     (in - 1) * stride + k' - 2 p

    Weights are (out, in / group_count, height, width) or, with the same bytes,
    (1, out * in / group_count, height, width); biases are (out) or (1, out, 1, 1).

    Raises:
        InvalidArgument: for counts, sizes, strides and rates below 1, and a group_count
            that does not divide both counts.
        ShapeError: for weights and biases of other sizes; from node(), for a source
            with other channels or smaller than the kernel.
        DTypeError: for weights and biases that are not float32.

    Example:
        >>> g, image = tg.Graph(), tg.Tensor((64, 3, 32, 32))
        >>> conv = tg.layers.Convolution(16, 3, strides=2)
        >>> g.node(conv, image).shape, conv.weights.shape, conv.biases.shape
        ((64, 16, 16, 16), (16, 3, 3, 3), (16,))
        >>> sound = tg.Tensor((8, 1, 1000))
        >>> g.node(tg.layers.Convolution(4, (1, 9), padding="valid"), sound).shape
        (8, 4, 992)
)pbdoc";

constexpr const char* kFullyConnectedDoc = R"pbdoc(
    Every output is a weighted sum of all inputs: ``y = x @ weights.T + biases``.

    (..., in) -> (..., out), and (N, in, 1, 1) -> (N, out, 1, 1). Weights are (out, in),
    biases (out); each may have axes of size 1 besides, and weights may be flat. The
    inputs are the elements of the last axis: put Flatten before it for images.

    Raises:
        InvalidArgument: for counts below 1, and for a descriptor of anything but a
            standard 1 x 1 convolution.
        ShapeError: for weights and biases of other sizes; from node(), for a source of
            another size.
        DTypeError: for weights and biases that are not float32.

    Example:
        >>> g, x = tg.Graph(), tg.Tensor((64, 16), name="x")
        >>> fc = tg.layers.FullyConnected(10, name="fc")
        >>> g.node(fc, x).shape
        (64, 10)
        >>> fc.weights.name, fc.weights.shape
        ('fc.weights', (10, 16))
        >>> tg.layers.FullyConnected(weights=np.eye(4)).weights.shape
        (4, 4)
)pbdoc";

constexpr const char* kLoRADoc = R"pbdoc(
    A layer of a trained network learns something new by few parameters.

    ``y = base(x) + alpha / rank * x @ down.T @ up.T`` (Hu et al. 2021), with shapes as
    those of its base, a FullyConnected layer. down is (rank, in), uniform within
    1 / sqrt(in); up is (out, rank), zeros: at first the layer is its base, whose
    parameters are frozen and keep their names. Train, then
    ``save(path, trained_only=True)`` writes what has changed.

    Args:
        base: The FullyConnected layer, built: with its input channels, or after its
            first node.
        rank: The width between down and up, from 1 to the smaller one of in and out.
        alpha: The factor of what is learned, before it is divided by rank.

    Raises:
        InvalidArgument: for a rank out of range, and an alpha that is not finite.
        StateError: for a base without parameters yet.

    Example:
        >>> g, x = tg.Graph(), tg.Tensor((64, 16))
        >>> lora = tg.layers.LoRA(tg.layers.FullyConnected(16, 10), rank=4, alpha=8)
        >>> g.node(lora, x).shape, lora.down.shape, lora.up.shape
        ((64, 10), (4, 16), (10, 4))
)pbdoc";

constexpr const char* kLoRAMergedDoc = R"pbdoc(
    A FullyConnected layer that does the same, with the newest weights + alpha / rank *
    up @ down, and the biases of the base.

    Returns:
        A layer of its own, which belongs to no graph.

    Example:
        >>> lora = tg.layers.LoRA(tg.layers.FullyConnected(16, 10), rank=4, alpha=8)
        >>> lora.merged().weights.shape
        (10, 16)
)pbdoc";

constexpr const char* kMatMulDoc = R"pbdoc(
    The product of two sources: ``alpha * op(x) @ op(y)``, where op may transpose.

    x (..., n, k) and y (..., k, m) -> (..., n, m): over the last two axes; axes before
    these broadcast. ``x @ y`` is the same where one of them is a result of a graph.

    Raises:
        InvalidArgument: for an alpha that is not finite.
        ShapeError: from node(), for sources that do not fit.

    Example:
        >>> g = tg.Graph()
        >>> x, y = tg.Tensor((8, 5, 16)), tg.Tensor((8, 7, 16))
        >>> scaled = tg.layers.MatMul(alpha=1 / 4, transposes_y=True)
        >>> g.node(scaled, [x, y]).shape
        (8, 5, 7)
)pbdoc";

constexpr const char* kGramMatrixDoc = R"pbdoc(
    The products of all pairs of channels of an image, as style transfer compares them.

    (N, C, H, W) -> (N, C, 1, C)::

        y[n, f, 0, c] = scale * sum over h, w of x[n, f, h, w] * x[n, c, h, w]

    Args:
        scale: The factor.

    Raises:
        InvalidArgument: for a scale that is not finite.
        ShapeError: from node(), for a source that is no image.

    Example:
        >>> g, image = tg.Graph(), tg.Tensor((4, 16, 32, 32))
        >>> g.node(tg.layers.GramMatrix(scale=1 / 1024), image).shape
        (4, 16, 1, 16)
)pbdoc";

constexpr const char* kConvolutionInputsDoc =
    "The number of input channels. Leave it out, and it is the source's: the "
    "first "
    "node creates the weights.";
constexpr const char* kConvolutionOutputsDoc = "The number of output channels.";
constexpr const char* kConvolutionKernelDoc =
    "Height and width of the kernel, a pair or one integer; required. Height 1 "
    "for "
    "(N, C, L).";
constexpr const char* kConvolutionTypeDoc =
    "\"standard\", \"depthwise\" or \"transposed\".";
constexpr const char* kConvolutionGroupsDoc =
    "In how many groups channels are convolved apart; divides both counts.";
constexpr const char* kConvolutionStridesDoc =
    "Distances of the windows, a pair or one integer.";
constexpr const char* kConvolutionDilationDoc =
    "Distances of the elements of a window, a pair or one integer.";

/// What the forms of a convolution's descriptor, and of a layer, have besides.
struct ConvolutionWindow {
  OptionalPair padding_sizes, kernel_size;
  PaddingSpec padding;
  std::int64_t channel_multiplier = 1;
};

void bind_descriptor_fields(BoundClass<ConvolutionDescriptor>& type) {
  type.def_readonly("convolution_type",
                    &ConvolutionDescriptor::convolution_type,
                    kConvolutionTypeDoc)
      .def_readonly("input_feature_channel_count",
                    &ConvolutionDescriptor::input_feature_channel_count)
      .def_readonly("output_feature_channel_count",
                    &ConvolutionDescriptor::output_feature_channel_count)
      .def_readonly("group_count", &ConvolutionDescriptor::group_count)
      .def_property_readonly("is_convolution_transpose",
                             &ConvolutionDescriptor::is_convolution_transpose,
                             "Is the type \"transposed\"?")
      .def_property_readonly("uses_depthwise_convolution",
                             &ConvolutionDescriptor::uses_depthwise_convolution,
                             "Is the type \"depthwise\"?");
  bind_window_fields(type);
}

void bind_convolution_descriptor(py::module_& m) {
  BoundClass<ConvolutionDescriptor> type(m, "ConvolutionDescriptor",
                                         kConvolutionDescriptorDoc);
  const auto kernel =
      required("kernel_size", &ConvolutionDescriptor::kernel_size,
               "Height and width of the kernel.");
  const auto in = required("input_feature_channel_count",
                           &ConvolutionDescriptor::input_feature_channel_count,
                           "The number of input channels.");
  const auto out =
      required("output_feature_channel_count",
               &ConvolutionDescriptor::output_feature_channel_count,
               kConvolutionOutputsDoc);
  const auto groups = row("group_count", &ConvolutionDescriptor::group_count,
                          kConvolutionGroupsDoc);
  const auto with_window = [&](const auto& def) {
    def(row("strides", &ConvolutionDescriptor::strides, kConvolutionStridesDoc),
        row("dilation_rates", &ConvolutionDescriptor::dilation_rates,
            kConvolutionDilationDoc),
        row("padding_policy", &ConvolutionDescriptor::padding_policy,
            kPaddingPolicyDoc),
        row("padding_sizes", &ConvolutionWindow::padding_sizes,
            kPaddingSizesDoc));
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
        rows::keyword(items)..., rows::documented(doc, items...).c_str());
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
        row("type", &ConvolutionDescriptor::convolution_type,
            kConvolutionTypeDoc),
        groups, window...);
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
        "transposed", "Describes a transposed convolution.",
        [padded](const ConvolutionDescriptor& options,
                 const ConvolutionWindow& given) {
          return ConvolutionDescriptor::transposed(padded(options, given));
        },
        kernel, in, out, py::kw_only(), groups, window...);
    def_static(
        "depthwise",
        "Describes a depthwise convolution: each channel has kernels of its "
        "own.",
        [padded](const ConvolutionDescriptor& options,
                 const ConvolutionWindow& given) {
          return ConvolutionDescriptor::depthwise(padded(options, given),
                                                  given.channel_multiplier);
        },
        kernel, in,
        row("channel_multiplier", &ConvolutionWindow::channel_multiplier,
            "The number of output channels of each input channel."),
        py::kw_only(), window...);
  });
  bind_descriptor_fields(type);
}

void bind_weighted_base(py::module_& m) {
  using Class = layers::WeightedLayer;
  BoundClass<Class, Layer, std::shared_ptr<Class>>(
      m, "WeightedLayer",
      "Base of Convolution and FullyConnected: weights, and biases if wanted.")
      .def_property_readonly("weights", copied(&Class::weights),
                             "What the sums are weighted by; trained.")
      .def_property_readonly("biases", or_none(&Class::biases),
                             "What is added; None without biases.")
      .def_property_readonly("weights_parameter", &Class::weights_parameter,
                             "weights with their state in training.")
      .def_property_readonly("biases_parameter",
                             or_none(&Class::biases_parameter),
                             "biases with their state in training.");
}

template <class Class>
using Weighted =
    BoundClass<Class, layers::WeightedLayer, std::shared_ptr<Class>>;

/// Calls def(the rows that every layer with weights ends with).
template <class Def>
void with_weights(Def def) {
  def(row("weights", &WeightOptions::weights,
          "An array or a tensor; None: created by `initializer`."),
      row("biases", &WeightOptions::biases,
          "An array or a tensor; None: created as zeros."),
      row("initializer", &WeightOptions::initializer, kInitializerDoc),
      row("uses_biases", &WeightOptions::uses_biases, "Are biases added?"));
}

void bind_convolution(py::module_& m) {
  using Class = layers::Convolution;
  Weighted<Class> type(m, "Convolution", kConvolutionDoc);
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
    def_layer<WeightOptions>(
        type, "Convolution",
        plain<ConvolutionDescriptor>(
            "descriptor",
            "A ConvolutionDescriptor, in place of sizes and window."),
        py::kw_only(), weights...);
    const auto def_window = [&](const auto& build, const auto&... sizes) {
      def_named<ConvolutionDescriptor, ConvolutionWindow, WeightOptions>(
          type, "Convolution", build, sizes..., py::kw_only(),
          row("padding", &ConvolutionWindow::padding, kPaddingDoc),
          row("strides", &ConvolutionDescriptor::strides,
              kConvolutionStridesDoc),
          row("dilation_rates", &ConvolutionDescriptor::dilation_rates,
              kConvolutionDilationDoc),
          row("group_count", &ConvolutionDescriptor::group_count,
              kConvolutionGroupsDoc),
          row("convolution_type", &ConvolutionDescriptor::convolution_type,
              kConvolutionTypeDoc),
          weights...);
    };
    const auto outputs =
        required("output_feature_channel_count",
                 &ConvolutionDescriptor::output_feature_channel_count,
                 kConvolutionOutputsDoc);
    // Before the one with three sizes, whose kernel may be left out.
    def_window(build_of_source, outputs, plain<Pair>("kernel_size"));
    def_window(build_of_sizes,
               required("input_feature_channel_count",
                        &ConvolutionDescriptor::input_feature_channel_count,
                        kConvolutionInputsDoc),
               outputs,
               row("kernel_size", &ConvolutionWindow::kernel_size,
                   kConvolutionKernelDoc));
  });
  type.def_property_readonly("descriptor", &Class::descriptor,
                             kOwnDescriptorDoc);
}

void bind_fully_connected(py::module_& m) {
  using Class = layers::FullyConnected;
  Weighted<Class> type(m, "FullyConnected", kFullyConnectedDoc);
  with_weights([&](const auto&... weights) {
    def_layer<WeightOptions>(
        type, "FullyConnected",
        plain<ConvolutionDescriptor>(
            "descriptor",
            "A ConvolutionDescriptor, in place of the sizes; its kernel_size "
            "may be (in, out), as programs for ML Compute have it."),
        py::kw_only(), weights...);
    def_layer<WeightOptions>(type, "FullyConnected",
                             plain<std::int64_t>("input_feature_channel_count",
                                                 kConvolutionInputsDoc),
                             plain<std::int64_t>("output_feature_channel_count",
                                                 kConvolutionOutputsDoc),
                             py::kw_only(), weights...);
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
      .def_property_readonly("descriptor", &Class::descriptor,
                             kOwnDescriptorDoc);
}

void bind_lora(py::module_& m) {
  using Class = layers::LoRA;
  SimpleLayer<Class, Layer, std::shared_ptr<layers::FullyConnected>,
              std::int64_t, float>::bind(m, "LoRA", kLoRADoc, py::arg("base"),
                                         whole("rank"), py::arg("alpha"))
      .def_property_readonly("base", &Class::base)
      .def_property_readonly("rank", &Class::rank)
      .def_property_readonly("alpha", &Class::alpha)
      .def_property_readonly("down", copied(&Class::down),
                             "The first factor, (rank, in); trained.")
      .def_property_readonly("up", copied(&Class::up),
                             "The second factor, (out, rank); trained.")
      .def(
          "merged",
          [](const Class& self) {
            return made_without_gil([&] { return self.merged(); });
          },
          kLoRAMergedDoc);
}

void bind_matmul(py::module_& m) {
  using Class = layers::MatMul;
  using Product = MatMulDescriptor;
  const auto alpha = row("alpha", &Product::alpha, "The factor.");
  const auto x =
      row("transposes_x", &Product::transposes_x, "Is x (..., k, n)?");
  const auto y =
      row("transposes_y", &Product::transposes_y, "Is y (..., m, k)?");
  bind_descriptor<Product>(m, "MatMulDescriptor",
                           "The options of MatMul, as ML Compute has them.",
                           alpha, x, y);
  BoundClass<Class, Layer, std::shared_ptr<Class>> type(m, "MatMul",
                                                        kMatMulDoc);
  def_layer(type, "MatMul",
            plain<Product>("descriptor",
                           "A MatMulDescriptor, in place of all others."),
            py::kw_only());
  def_layer<Product>(type, "MatMul", alpha, x, y, py::kw_only());
  type.def_property_readonly("descriptor", &Class::descriptor,
                             kOwnDescriptorDoc);
  SimpleLayer<layers::GramMatrix, Layer, float>::bind(
      m, "GramMatrix", kGramMatrixDoc, py::arg("scale") = 1.0)
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
