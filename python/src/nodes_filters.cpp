// SPDX-License-Identifier: MIT
// Filters as nodes: convolutions, normalizations, pooling, contrast,
// arithmetic, dropout and what only moves elements.
#include "data_source.h"
#include "nodes.h"
#include "padding.h"

namespace traingraph::python {
namespace {

using nodes::FilterNode;
using nodes::ImageNode;
using nodes::TrainableNode;
using OptionalPair = std::optional<Pair>;

void bind_node_convolution_descriptor(py::module_& m) {
  using D = nodes::ConvolutionDescriptor;
  bind_descriptor<D>(
      m, "NodeConvolutionDescriptor",
      "Weights are (out, height, width, in / groups). Pairs are (height, "
      "width), or one integer. is_depthwise: a kernel for each channel; as "
      "many outputs as inputs, one group.",
      required("kernel_size", &D::kernel_size),
      required("input_feature_channels", &D::input_feature_channels),
      required("output_feature_channels", &D::output_feature_channels),
      py::kw_only(), row("strides", &D::strides),
      row("dilation_rates", &D::dilation_rates), row("groups", &D::groups),
      row("is_depthwise", &D::is_depthwise));
}

void bind_convolutions(py::module_& m) {
  using nodes::ConvolutionNode;
  using nodes::ConvolutionTransposeNode;
  using nodes::FullyConnectedNode;
  const py::arg_v padding = py::arg("padding") = "same";
  BoundClass<ConvolutionNode, TrainableNode>(
      m, "ConvolutionNode",
      "y[o,i,j] = bias[o] + sum_{c,u,v} w[o,u,v,c] x[c, i sY + u dY - top, j "
      "sX + v dX - left]. `weights` is a data source. Raises ShapeError, "
      "InvalidArgument, and what the data source's descriptor does.")
      .def(py::init([](const ImageNode& source, const SourceObject& weights,
                       const NodePadding& padding, const std::string& name) {
             return make_node<ConvolutionNode>(
                 name, source, to_convolution_source(weights), padding.policy);
           }),
           py::arg("source"), py::arg("weights"), py::kw_only(), padding,
           py::arg("name") = "");
  BoundClass<FullyConnectedNode, TrainableNode>(
      m, "FullyConnectedNode",
      "A convolution whose kernel covers the whole image: (out, 1, 1).")
      .def(py::init([](const ImageNode& source, const SourceObject& weights,
                       const std::string& name) {
             return make_node<FullyConnectedNode>(
                 name, source, to_convolution_source(weights));
           }),
           py::arg("source"), py::arg("weights"), py::kw_only(),
           py::arg("name") = "");
  const char* const doc =
      "y[o, i sY + u dY - top, j sX + v dX - left] += w[o,u,v,c] x[c,i,j]: the "
      "kernel as it is, not turned. A source of n samples gives (n - 1) stride "
      "+ 1 + p (k^ - 1), p as in PaddingPolicy. With the state of a "
      "convolution the result has the size of that one's source, and its "
      "padding. No groups.";
  BoundClass<ConvolutionTransposeNode, TrainableNode>(
      m, "ConvolutionTransposeNode", doc)
      .def(py::init([](const ImageNode& source, const SourceObject& weights,
                       const NodePadding& padding, const std::string& name) {
             return make_node<ConvolutionTransposeNode>(
                 name, source, to_convolution_source(weights), padding.policy);
           }),
           py::arg("source"), py::arg("weights"), py::kw_only(), padding,
           py::arg("name") = "")
      .def(py::init([](const ImageNode& source, const SourceObject& weights,
                       const nodes::StateNode& state, const std::string& name) {
             return make_node<ConvolutionTransposeNode>(
                 name, source, state, to_convolution_source(weights));
           }),
           py::arg("source"), py::arg("weights"), py::kw_only(),
           py::arg("convolution_gradient_state"), py::arg("name") = "");
}

template <class Node>
void bind_normalization(py::module_& m, const char* name, const char* doc) {
  BoundClass<Node, TrainableNode>(m, name, doc)
      .def(py::init([](const ImageNode& source, const SourceObject& data_source,
                       const std::string& name) {
             return make_node<Node>(name, source,
                                    to_normalization_source(data_source));
           }),
           py::arg("source"), py::arg("data_source"), py::kw_only(),
           py::arg("name") = "");
}

/// What is given of a window. No strides are the kernel size.
struct NodeWindow {
  OptionalPair kernel_size, strides;
  NodePadding padding{{.extent = PaddingExtent::ValidOnly}};
};

/// `last` is the row that one class has.
template <class Node, class... Last>
void bind_pooling(py::module_& m, const char* name, const char* doc,
                  const Last&... last) {
  BoundClass<Node, FilterNode> type(m, name, doc);
  const auto build = [](const std::string& name, const ImageNode& source,
                        nodes::PoolingOptions options,
                        const NodeWindow& given) {
    options.kernel_size = given.kernel_size.value_or(Pair{});
    options.strides = given.strides.value_or(Pair{});
    options.padding = given.padding.policy;
    return make_node<Node>(name, source, options);
  };
  def_named<nodes::PoolingOptions, NodeWindow>(
      type, name, build, plain<ImageNode>("source"),
      row("kernel_size", &NodeWindow::kernel_size),
      row("strides", &NodeWindow::strides), py::kw_only(),
      row("padding", &NodeWindow::padding), last...);
}

const auto image_source = [] { return plain<ImageNode>("source"); };

/// Cross-channel and spatial normalization, which have the same options.
template <class Node, class Options>
void bind_lrn(py::module_& m, const char* name, const char* doc) {
  bind_filter_of<Node, Options>(
      m, name, doc, image_source(), row("kernel_size", &Options::kernel_size),
      py::kw_only(), row("alpha", &Options::alpha), row("beta", &Options::beta),
      row("delta", &Options::delta));
}

void bind_local_contrast(py::module_& m) {
  using Options = nodes::LocalContrastNormalizationOptions;
  bind_filter_of<nodes::LocalContrastNormalizationNode, Options>(
      m, "LocalContrastNormalizationNode",
      "pm + ps (x - p0 mean) / (delta + alpha variance)^beta, with mean and "
      "variance of the pixels of the window that are inside the image.",
      image_source(), row("kernel_size", &Options::kernel_size), py::kw_only(),
      row("alpha", &Options::alpha), row("beta", &Options::beta),
      row("delta", &Options::delta), row("p0", &Options::p0),
      row("pm", &Options::pm), row("ps", &Options::ps));
}

template <class Node>
void bind_arithmetic(py::module_& m, const char* name, const char* doc) {
  using Options = nodes::ArithmeticOptions;
  bind_filter_of<Node, Options>(
      m, name, doc, plain<ImageNode>("left"), plain<ImageNode>("right"),
      py::kw_only(), row("primary_scale", &Options::primary_scale),
      row("secondary_scale", &Options::secondary_scale),
      row("bias", &Options::bias),
      row("primary_strides", &Options::primary_strides),
      row("secondary_strides", &Options::secondary_strides),
      row("minimum_value", &Options::minimum_value),
      row("maximum_value", &Options::maximum_value));
}

void bind_dropout(py::module_& m) {
  using Options = nodes::DropoutOptions;
  bind_filter_of<nodes::DropoutNode, Options>(
      m, "DropoutNode",
      "x m / keep_probability, m 1 with that probability, else 0, anew in each "
      "run; with a stride of 0 one m for the whole axis. mask_strides are of "
      "(channels, height, width).",
      image_source(), row("keep_probability", &Options::keep_probability),
      py::kw_only(), row("seed", &Options::seed),
      row("mask_strides", &Options::mask_strides));
}

}  // namespace

void bind_node_weights(py::module_& m) {
  bind_node_convolution_descriptor(m);
  bind_convolutions(m);
  bind_normalization<nodes::BatchNormalizationNode>(
      m, "BatchNormalizationNode",
      "gamma (x - mean) / sqrt(variance + epsilon) + beta per channel: "
      "statistics of the batch where the graph has the gradient of this "
      "filter, else those of the data source.");
  bind_normalization<nodes::InstanceNormalizationNode>(
      m, "InstanceNormalizationNode",
      "Statistics of each image and channel; otherwise as "
      "BatchNormalizationNode.");
  bind_normalization<nodes::GroupNormalizationNode>(
      m, "GroupNormalizationNode",
      "Statistics of each image and group of channels; otherwise as "
      "BatchNormalizationNode.");
}

void bind_node_pooling(py::module_& m) {
  using Options = nodes::PoolingOptions;
  bind_pooling<nodes::PoolingMaxNode>(
      m, "PoolingMaxNode",
      "The largest sample of each window; the gradient goes to the first of "
      "equals. No strides are the kernel size. Raises InvalidArgument without "
      "a kernel_size.");
  bind_pooling<nodes::DilatedPoolingMaxNode>(
      m, "DilatedPoolingMaxNode",
      "Pools as PoolingMaxNode, with windows that are dilated.",
      row("dilation_rates", &Options::dilation_rates));
  bind_pooling<nodes::PoolingAverageNode>(
      m, "PoolingAverageNode",
      "The mean of each window: \"clamp\" divides by the samples inside the "
      "image, \"zero\" by all.",
      row("edge_mode", &Options::edge_mode));
  bind_pooling<nodes::PoolingL2NormNode>(
      m, "PoolingL2NormNode",
      "The root of the sum of squares; gradient g x / y, 0 where y is 0.");
}

void bind_node_contrast(py::module_& m) {
  bind_lrn<nodes::CrossChannelNormalizationNode,
           nodes::CrossChannelNormalizationOptions>(
      m, "CrossChannelNormalizationNode",
      "x / (delta + alpha / k * sum x^2)^beta over k channels.");
  bind_lrn<nodes::SpatialNormalizationNode, nodes::SpatialNormalizationOptions>(
      m, "SpatialNormalizationNode",
      "x / (delta + alpha / k^2 * sum x^2)^beta over k times k pixels.");
  bind_local_contrast(m);
  SimpleNode<nodes::SoftMaxNode, FilterNode>::bind(
      m, "SoftMaxNode", "Over the channels of each pixel.");
  SimpleNode<nodes::LogSoftMaxNode, FilterNode>::bind(
      m, "LogSoftMaxNode", "Over the channels of each pixel.");
}

void bind_node_arithmetic(py::module_& m) {
  bind_arithmetic<nodes::AdditionNode>(
      m, "AdditionNode",
      "clamp(primary_scale x + secondary_scale y + bias, minimum_value, "
      "maximum_value). Strides are of (channels, height, width): one of 0 "
      "reads the first element of its axis everywhere, and the gradient is "
      "their sum; axes of 1 and more elements ask for it. The gradient is 0 "
      "where the result is clamped.");
  bind_arithmetic<nodes::SubtractionNode>(m, "SubtractionNode",
                                          "x - y; otherwise as AdditionNode.");
  bind_arithmetic<nodes::MultiplicationNode>(m, "MultiplicationNode",
                                             "x y; otherwise as AdditionNode.");
  bind_arithmetic<nodes::DivisionNode>(
      m, "DivisionNode",
      "x / y; otherwise as AdditionNode. Without a gradient, as in MPSNN: "
      "multiply by a PowerNode of c = -1.");
  bind_dropout(m);
}

void bind_node_structure(py::module_& m) {
  bind_filter_of<nodes::ConcatenationNode>(
      m, "ConcatenationNode",
      "Channels one after the other. All sources but the last have a multiple "
      "of 4 channels: MPSNN fills up others with channels of its own.",
      plain<std::vector<ImageNode>>("sources"), py::kw_only());
  SimpleNode<nodes::ReshapeNode, FilterNode, nodes::ImageSize>::bind(
      m, "ReshapeNode",
      "The same elements in the order (height, width, channels), as "
      "result_size: (channels, height, width).",
      py::arg("result_size"));
  using Sizes = std::array<std::int64_t, 3>;
  bind_filter_of<nodes::PadNode>(
      m, "PadNode",
      "Samples before and after the image, (channels, height, width).",
      image_source(), plain<Sizes>("before"), plain<Sizes>("after"),
      py::kw_only(), plain("edge_mode", ImageEdgeMode::Zero),
      plain("fill_value", 0.0f));
  SimpleNode<nodes::ReductionNode, FilterNode, ImageReduction, float>::bind(
      m, "ReductionNode",
      "Reduces an image along its axes. Only the gradient of \"spatial_mean\" "
      "exists. `weight` is that of \"feature_channels_sum\".",
      py::arg("reduction"), py::arg("weight") = 1.0);
  SimpleNode<nodes::UpsamplingNearestNode, FilterNode, std::int64_t,
             std::int64_t>::bind(m, "UpsamplingNearestNode",
                                 "Each pixel scale_y times scale_x times.",
                                 whole("scale_x"), whole("scale_y"));
  SimpleNode<nodes::UpsamplingBilinearNode, FilterNode, std::int64_t,
             std::int64_t,
             bool>::bind(m, "UpsamplingBilinearNode",
                         "Interpolates between pixels: the image is scale_x "
                         "times as wide and scale_y times as high.",
                         whole("scale_x"), whole("scale_y"),
                         py::arg("aligns_corners") = false);
  SimpleNode<nodes::BilinearScaleNode, FilterNode, Pair>::bind(
      m, "BilinearScaleNode",
      "Bilinear, to any size (height, width); without a gradient.",
      py::arg("output_size"));
  SimpleNode<nodes::GramMatrixCalculationNode, FilterNode, float>::bind(
      m, "GramMatrixCalculationNode",
      "y[c, 1, f] = alpha sum x[f] x[c] over the pixels: (channels, 1, "
      "channels).",
      py::arg("alpha") = 1.0);
}

}  // namespace traingraph::python
