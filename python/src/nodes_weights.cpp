// SPDX-License-Identifier: MIT
// Filters as nodes: those with a data source, convolutions and normalizations.
#include "data_source.h"
#include "nodes.h"

namespace traingraph::python {
namespace {

using nodes::ImageNode;
using nodes::TrainableNode;

constexpr const char* kNodeConvolutionDoc = R"pbdoc(
    The shape of the weights of a data source, and how they move.

    Weights are (out, height, width, in / groups). Pairs are (height, width), or
    one integer for both.

    Raises:
        InvalidArgument: for sizes below 1 and groups that do not divide the
            channels, from the node.

    Example:
        >>> descriptor = tg.nodes.ConvolutionDescriptor(3, 1, 4, strides=2)
        >>> image = tg.nodes.ImageNode("image", (1, 8, 8))
        >>> data = tg.nodes.ConvolutionData(
        ...     np.zeros((4, 3, 3, 1)), descriptor=descriptor
        ... )
        >>> tg.nodes.ConvolutionNode(image, data).result_image.size
        (4, 4, 4)
)pbdoc";

constexpr const char* kConvolutionNodeDoc = R"pbdoc(
    Convolution with the weights of a data source.

    ``y[o, i, j] = bias[o] + sum over c, u, v of w[o, u, v, c] * x[c, i * stride
    + u * dilation - top, j * stride + v * dilation - left]``.

    Args:
        source: The image, (channels, height, width).
        weights: A data source, such as ConvolutionData.
        padding: "same", "valid", "full" or a PaddingPolicy: where windows lie.

    Raises:
        ShapeError: for an image that does not have the weights' channels.
        InvalidArgument: for what is no data source; also what that raises.

    Example:
        >>> image = tg.nodes.ImageNode("image", (1, 8, 8))
        >>> weights = tg.nodes.ConvolutionData(np.zeros((4, 3, 3, 1)))
        >>> tg.nodes.ConvolutionNode(image, weights).result_image.size
        (4, 8, 8)
)pbdoc";

constexpr const char* kFullyConnectedNodeDoc = R"pbdoc(
    A convolution whose kernel covers the whole image: (out, 1, 1).

    Args:
        source: The image, (channels, height, width).
        weights: A data source, such as ConvolutionData, of weights (out,
            height, width, channels).

    Raises:
        ShapeError: for an image of another size than the kernel's.
        InvalidArgument: for what is no data source; also what that raises.

    Example:
        >>> image = tg.nodes.ImageNode("image", (1, 8, 8))
        >>> weights = tg.nodes.ConvolutionData(np.zeros((10, 8, 8, 1)))
        >>> tg.nodes.FullyConnectedNode(image, weights).result_image.size
        (10, 1, 1)
)pbdoc";

constexpr const char* kTransposeNodeDoc = R"pbdoc(
    The transpose of a convolution, which makes images larger.

    ``y[o, i * stride + u * dilation - top, j * stride + v * dilation - left] +=
    w[o, u, v, c] * x[c, i, j]``: the kernel as it is, not turned. A source of n
    samples gives (n - 1) * stride + 1 + p * (k' - 1), p and k' as in
    PaddingPolicy. There are no groups.

    Args:
        source: The image, (channels, height, width).
        weights: A data source, such as ConvolutionData.
        padding: "same", "valid", "full" or a PaddingPolicy: where windows lie.
        convolution_gradient_state: The state of a convolution: the result has
            the size of its source, and its padding.

    Raises:
        ShapeError: for an image that does not have the weights' channels.
        InvalidArgument: for what is no data source; also what that raises.

    Example:
        >>> image = tg.nodes.ImageNode("image", (1, 4, 4))
        >>> weights = tg.nodes.ConvolutionData(np.zeros((2, 3, 3, 1)))
        >>> node = tg.nodes.ConvolutionTransposeNode(image, weights, padding="full")
        >>> node.result_image.size
        (2, 6, 6)
)pbdoc";

void bind_node_convolution_descriptor(py::module_& m) {
  using D = nodes::ConvolutionDescriptor;
  bind_descriptor<D>(
      m, "NodeConvolutionDescriptor", kNodeConvolutionDoc,
      required("kernel_size", &D::kernel_size, "The kernel."),
      required("input_feature_channels", &D::input_feature_channels,
               "Channels of the image."),
      required("output_feature_channels", &D::output_feature_channels,
               "Channels of the result."),
      py::kw_only(), row("strides", &D::strides, "Steps of the kernel."),
      row("dilation_rates", &D::dilation_rates,
          "Distances of the samples that it reads."),
      row("groups", &D::groups,
          "Channels are cut into so many groups, each with weights of its "
          "own."),
      row("is_depthwise", &D::is_depthwise,
          "A kernel for each channel; as many outputs as inputs, one group."));
}

void bind_convolutions(py::module_& m) {
  using nodes::ConvolutionNode;
  using nodes::ConvolutionTransposeNode;
  using nodes::FullyConnectedNode;
  const py::arg_v padding = py::arg("padding") = "same";
  const py::dict name(py::arg("name") = kNodeNameDoc);
  BoundClass<ConvolutionNode, TrainableNode> convolution(m, "ConvolutionNode",
                                                         kConvolutionNodeDoc);
  convolution.def(
      py::init([](const ImageNode& source, const SourceObject& weights,
                  const NodePadding& padding, const std::string& name) {
        return make_node<ConvolutionNode>(
            name, source, to_convolution_source(weights), padding.policy);
      }),
      py::arg("source"), py::arg("weights"), py::kw_only(), padding,
      py::arg("name") = "");
  add_arguments(convolution, name);
  BoundClass<FullyConnectedNode, TrainableNode> dense(m, "FullyConnectedNode",
                                                      kFullyConnectedNodeDoc);
  dense.def(py::init([](const ImageNode& source, const SourceObject& weights,
                        const std::string& name) {
              return make_node<FullyConnectedNode>(
                  name, source, to_convolution_source(weights));
            }),
            py::arg("source"), py::arg("weights"), py::kw_only(),
            py::arg("name") = "");
  add_arguments(dense, name);
  BoundClass<ConvolutionTransposeNode, TrainableNode> transpose(
      m, "ConvolutionTransposeNode", kTransposeNodeDoc);
  transpose
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
  add_arguments(transpose, name);
}

template <class Node>
void bind_normalization(py::module_& m, const char* name, const char* summary) {
  const std::string doc = std::string(summary) +
                          R"pbdoc(

Args:
    source: The image, (channels, height, width).
    data_source: gamma, beta and statistics, such as NormalizationData.
    name: )pbdoc" + kNodeNameDoc +
                          R"pbdoc(

Raises:
    ShapeError: for an image of other channels than the data source's.
    InvalidArgument: for what is no data source; also what that raises.

Example:
    >>> image = tg.nodes.ImageNode("image", (4, 8, 8))
    >>> data = tg.nodes.NormalizationData(4, groups=2)
    >>> tg.nodes.)pbdoc" + name +
                          R"pbdoc((image, data).result_image.size
    (4, 8, 8)
)pbdoc";
  BoundClass<Node, TrainableNode>(m, name, doc.c_str())
      .def(py::init([](const ImageNode& source, const SourceObject& data_source,
                       const std::string& name) {
             return make_node<Node>(name, source,
                                    to_normalization_source(data_source));
           }),
           py::arg("source"), py::arg("data_source"), py::kw_only(),
           py::arg("name") = "");
}

}  // namespace

void bind_node_weights(py::module_& m) {
  bind_node_convolution_descriptor(m);
  bind_convolutions(m);
  bind_normalization<nodes::BatchNormalizationNode>(m, "BatchNormalizationNode",
                                                    R"pbdoc(
Batch normalization: ``gamma * (x - mean) / sqrt(variance + epsilon) + beta``.

Statistics of each channel are those of the batch where the graph has the
gradient of this filter, else those of the data source.)pbdoc");
  bind_normalization<nodes::InstanceNormalizationNode>(
      m, "InstanceNormalizationNode", R"pbdoc(
Instance normalization: ``gamma * (x - mean) / sqrt(variance + epsilon) + beta``.

Statistics are those of each image and channel.)pbdoc");
  bind_normalization<nodes::GroupNormalizationNode>(m, "GroupNormalizationNode",
                                                    R"pbdoc(
Group normalization: ``gamma * (x - mean) / sqrt(variance + epsilon) + beta``.

Statistics are those of each image and group of channels; the data source says
how many groups.)pbdoc");
}

}  // namespace traingraph::python
