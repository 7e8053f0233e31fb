// SPDX-License-Identifier: MIT
// Contrast, softmax, arithmetic, dropout, what only moves elements, and losses
// as filter nodes.
#include "nodes.h"

namespace traingraph::python {
namespace {

using nodes::FilterNode;
using nodes::ImageNode;

constexpr Triple kUnitStrides{{1, 1, 1}};

/// Cross-channel and spatial normalization, which have the same options.
template <class Node, class Options>
void bind_lrn(py::module_& m, const char* name, const char* doc) {
  BoundClass<Node, FilterNode>(m, name, doc)
      .def(py::init([](const ImageNode& source, std::int64_t kernel_size,
                       float alpha, float beta, float delta,
                       const std::string& label) {
             return make_node<Node>(label, source,
                                    Options{.kernel_size = kernel_size,
                                            .alpha = alpha,
                                            .beta = beta,
                                            .delta = delta});
           }),
           py::arg("source"), whole("kernel_size") = 5, py::kw_only(),
           py::arg("alpha") = 1.0, py::arg("beta") = 5.0,
           py::arg("delta") = 1.0, py::arg("label") = "");
}

void bind_local_contrast(py::module_& m) {
  using Node = nodes::LocalContrastNormalizationNode;
  const nodes::LocalContrastNormalizationOptions defaults;
  BoundClass<Node, FilterNode>(
      m, "LocalContrastNormalizationNode",
      "pm + ps (x - p0 mean) / (delta + alpha variance)^beta, with mean and "
      "variance of the pixels of the window that are inside the image.")
      .def(py::init([](const ImageNode& source, Pair kernel_sizes, float alpha,
                       float beta, float delta, float p0, float pm, float ps,
                       const std::string& label) {
             return make_node<Node>(label, source,
                                    nodes::LocalContrastNormalizationOptions{
                                        .kernel_sizes = kernel_sizes,
                                        .alpha = alpha,
                                        .beta = beta,
                                        .delta = delta,
                                        .p0 = p0,
                                        .pm = pm,
                                        .ps = ps});
           }),
           py::arg("source"), py::arg("kernel_sizes") = defaults.kernel_sizes,
           py::kw_only(), py::arg("alpha") = defaults.alpha,
           py::arg("beta") = defaults.beta, py::arg("delta") = defaults.delta,
           py::arg("p0") = defaults.p0, py::arg("pm") = defaults.pm,
           py::arg("ps") = defaults.ps, py::arg("label") = "");
}

template <class Node>
void bind_arithmetic(py::module_& m, const char* name, const char* doc) {
  const nodes::ArithmeticOptions defaults;
  BoundClass<Node, FilterNode>(m, name, doc)
      .def(py::init([](const ImageNode& left, const ImageNode& right,
                       float primary_scale, float secondary_scale, float bias,
                       Triple primary_strides, Triple secondary_strides,
                       float minimum_value, float maximum_value,
                       const std::string& label) {
             return make_node<Node>(
                 label, left, right,
                 nodes::ArithmeticOptions{
                     .primary_scale = primary_scale,
                     .secondary_scale = secondary_scale,
                     .bias = bias,
                     .primary_strides = primary_strides.values,
                     .secondary_strides = secondary_strides.values,
                     .minimum_value = minimum_value,
                     .maximum_value = maximum_value});
           }),
           py::arg("left"), py::arg("right"), py::kw_only(),
           py::arg("primary_scale") = 1.0, py::arg("secondary_scale") = 1.0,
           py::arg("bias") = 0.0, py::arg("primary_strides") = kUnitStrides,
           py::arg("secondary_strides") = kUnitStrides,
           py::arg("minimum_value") = defaults.minimum_value,
           py::arg("maximum_value") = defaults.maximum_value,
           py::arg("label") = "");
}

void bind_dropout(py::module_& m) {
  BoundClass<nodes::DropoutNode, FilterNode>(
      m, "DropoutNode",
      "x m / keep_probability, m 1 with that probability, else 0, anew in each "
      "run; with a stride of 0 one m for the whole axis. mask_strides are of "
      "(channels, height, width).")
      .def(py::init([](const ImageNode& source, float keep_probability,
                       std::int64_t seed, Triple mask_strides,
                       const std::string& label) {
             return make_node<nodes::DropoutNode>(
                 label, source,
                 nodes::DropoutOptions{.keep_probability = keep_probability,
                                       .seed = seed,
                                       .mask_strides = mask_strides.values});
           }),
           py::arg("source"), py::arg("keep_probability") = 0.5, py::kw_only(),
           whole("seed") = 0, py::arg("mask_strides") = kUnitStrides,
           py::arg("label") = "");
}

void bind_node_loss_descriptor(py::module_& m) {
  BoundClass<nodes::LossDescriptor> type(
      m, "NodeLossDescriptor",
      "Formulas are those of traingraph.losses; classes are "
      "channels. reduction: \"none\", \"sum\" or \"mean\" of the "
      "loss of each image.");
  type.def(py::init([](LossType type, ReductionType reduction, float weight,
                       float label_smoothing, float epsilon, float delta,
                       std::int64_t number_of_classes, bool reduce_across_batch,
                       bool divides_by_non_zero_weights) {
             return nodes::LossDescriptor{
                 .type = type,
                 .reduction = reduction,
                 .weight = weight,
                 .label_smoothing = label_smoothing,
                 .epsilon = epsilon,
                 .delta = delta,
                 .number_of_classes = number_of_classes,
                 .reduce_across_batch = reduce_across_batch,
                 .divides_by_non_zero_weights = divides_by_non_zero_weights};
           }),
           py::arg("type"), py::arg("reduction") = "none",
           py::arg("weight") = 1.0, py::arg("label_smoothing") = 0.0,
           py::arg("epsilon") = 1e-7, py::arg("delta") = 1.0,
           whole("number_of_classes") = 1,
           py::arg("reduce_across_batch") = false,
           py::arg("divides_by_non_zero_weights") = false)
      .def_readonly("type", &nodes::LossDescriptor::type)
      .def_readonly("reduction", &nodes::LossDescriptor::reduction)
      .def_readonly("weight", &nodes::LossDescriptor::weight)
      .def_readonly("label_smoothing", &nodes::LossDescriptor::label_smoothing)
      .def_readonly("epsilon", &nodes::LossDescriptor::epsilon)
      .def_readonly("delta", &nodes::LossDescriptor::delta)
      .def_readonly("number_of_classes",
                    &nodes::LossDescriptor::number_of_classes)
      .def_readonly("reduce_across_batch",
                    &nodes::LossDescriptor::reduce_across_batch,
                    "The loss is one image for the whole batch; with mean it "
                    "is divided by the number of images, too.")
      .def_readonly("divides_by_non_zero_weights",
                    &nodes::LossDescriptor::divides_by_non_zero_weights,
                    "With sum: divided by the number of losses whose weight is "
                    "not 0; 0 when there is none.");
  bind_value(type);
}

template <class Node>
BoundClass<Node, FilterNode> bind_loss(py::module_& m, const char* name,
                                       const char* doc) {
  BoundClass<Node, FilterNode> type(m, name, doc);
  type.def(py::init([](const ImageNode& source, const ImageNode& labels,
                       const nodes::LossDescriptor& descriptor,
                       const std::optional<ImageNode>& weights,
                       const std::string& label) {
             return make_node<Node>(label, source, labels, descriptor,
                                    weights.value_or(ImageNode()));
           }),
           py::arg("source"), py::arg("labels"), py::arg("descriptor"),
           py::arg("weights") = py::none(), py::kw_only(),
           py::arg("label") = "");
  return type;
}

}  // namespace

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
  BoundClass<nodes::ConcatenationNode, FilterNode>(
      m, "ConcatenationNode",
      "Channels one after the other. All sources but the last have a multiple "
      "of 4 channels: MPSNN fills up others with channels of its own.")
      .def(py::init([](const std::vector<ImageNode>& sources,
                       const std::string& label) {
             return make_node<nodes::ConcatenationNode>(label, sources);
           }),
           py::arg("sources"), py::kw_only(), py::arg("label") = "");
  SimpleNode<nodes::ReshapeNode, FilterNode, nodes::ImageSize>::bind(
      m, "ReshapeNode",
      "The same elements in the order (height, width, channels), as "
      "result_size: (channels, height, width).",
      py::arg("result_size"));
  BoundClass<nodes::PadNode, FilterNode>(
      m, "PadNode",
      "Samples before and after the image, (channels, height, width).")
      .def(py::init([](const ImageNode& source, Triple before, Triple after,
                       ImageEdgeMode edge_mode, float fill_value,
                       const std::string& label) {
             return make_node<nodes::PadNode>(label, source, before.values,
                                              after.values, edge_mode,
                                              fill_value);
           }),
           py::arg("source"), py::arg("before"), py::arg("after"),
           py::kw_only(), py::arg("edge_mode") = "zero",
           py::arg("fill_value") = 0.0, py::arg("label") = "");
  SimpleNode<nodes::ReductionNode, FilterNode, ImageReduction, float>::bind(
      m, "ReductionNode",
      "Only the gradient of \"spatial_mean\" exists. `weight` is that of "
      "\"feature_channels_sum\".",
      py::arg("reduction"), py::arg("weight") = 1.0);
  SimpleNode<nodes::UpsamplingNearestNode, FilterNode, std::int64_t,
             std::int64_t>::bind(m, "UpsamplingNearestNode",
                                 "Each pixel scale_y times scale_x times.",
                                 whole("scale_x"), whole("scale_y"));
  SimpleNode<nodes::UpsamplingBilinearNode, FilterNode, std::int64_t,
             std::int64_t, bool>::bind(m, "UpsamplingBilinearNode",
                                       "Between pixels, scale_x times as wide "
                                       "and scale_y times as high.",
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

void bind_node_losses(py::module_& m) {
  bind_node_loss_descriptor(m);
  bind_loss<nodes::LossNode>(
      m, "LossNode",
      "The result is the gradient of the loss by `source`, element by element, "
      "not divided by anything; the loss is loss_image. `labels` and "
      "`weights`, if any, have the source's size; weights may have its loss's.")
      .def_property_readonly(
          "loss_image", &nodes::LossNode::loss_image,
          "(1, 1, 1) of each image, or, without a reduction, one per element, "
          "and of losses that sum over classes one per pixel. Exported.");
  bind_loss<nodes::ForwardLossNode>(
      m, "ForwardLossNode",
      "The result is the loss, see LossNode.loss_image. gradient_filter() is "
      "that of the prediction; gradient_filters() gives those of the "
      "prediction and the labels, none of the weights. training_graph() leaves "
      "out the labels that runs are given.");
  SimpleNode<nodes::InitialGradientNode, FilterNode>::bind(
      m, "InitialGradientNode",
      "Ones of the size of `source`: the gradient of a loss by itself, which a "
      "training graph begins with.");
}

}  // namespace traingraph::python
