// SPDX-License-Identifier: MIT
// Losses as filter nodes.
#include "nodes.h"

namespace traingraph::python {
namespace {

using nodes::FilterNode;
using nodes::ImageNode;

constexpr const char* kNodeLossDescriptorDoc = R"pbdoc(
    The options of LossNode and ForwardLossNode.

    Formulas are those of traingraph.losses; classes are channels.

    Raises:
        InvalidArgument: for values out of range, from the node.

    Example:
        >>> descriptor = tg.nodes.LossDescriptor("softmax_cross_entropy", "mean")
        >>> descriptor.weight
        1.0
)pbdoc";

constexpr const char* kLossNodeDoc = R"pbdoc(
    A loss whose result is its gradient by `source`: training_graph() begins here.

    The gradient is element by element, not divided by anything; the loss itself
    is loss_image.

    Args:
        source: The prediction, (channels, height, width).
        labels: Of its size.
        descriptor: Which loss, and its options.
        weights: Multiply the losses: of the source's size, or of the loss's.
            None: 1.

    Raises:
        ShapeError: for labels and weights that do not fit.
        InvalidArgument: for options out of range.

    Example:
        >>> scores = tg.nodes.ImageNode("scores", (10, 1, 1))
        >>> labels = tg.nodes.ImageNode("labels", (10, 1, 1))
        >>> descriptor = tg.nodes.LossDescriptor("softmax_cross_entropy", "sum")
        >>> loss = tg.nodes.LossNode(scores, labels, descriptor)
        >>> loss.result_image.size, loss.loss_image.size
        ((10, 1, 1), (1, 1, 1))
)pbdoc";

constexpr const char* kForwardLossNodeDoc = R"pbdoc(
    A loss whose result is the loss: LossNode.loss_image says its size.

    gradient_filter() is that of the prediction; gradient_filters() gives those
    of the prediction and the labels, none of the weights. training_graph()
    leaves out the labels that runs are given.

    Args:
        source: The prediction, (channels, height, width).
        labels: Of its size.
        descriptor: Which loss, and its options.
        weights: Multiply the losses: of the source's size, or of the loss's.
            None: 1.

    Raises:
        ShapeError: for labels and weights that do not fit.
        InvalidArgument: for options out of range.

    Example:
        >>> scores = tg.nodes.ImageNode("scores", (10, 1, 1))
        >>> labels = tg.nodes.ImageNode("labels", (10, 1, 1))
        >>> descriptor = tg.nodes.LossDescriptor("softmax_cross_entropy", "sum")
        >>> loss = tg.nodes.ForwardLossNode(scores, labels, descriptor)
        >>> begin = tg.nodes.InitialGradientNode(loss.result_image)
        >>> loss.result_image.size, begin.result_image.size
        ((1, 1, 1), (1, 1, 1))
)pbdoc";

void bind_node_loss_descriptor(py::module_& m) {
  using D = nodes::LossDescriptor;
  bind_descriptor<D>(
      m, "NodeLossDescriptor", kNodeLossDescriptorDoc,
      required("type", &D::type, "Which loss, such as \"mean_squared_error\"."),
      row("reduction", &D::reduction,
          "\"none\", \"sum\" or \"mean\" of the losses of each image."),
      row("weight", &D::weight, "Multiplies the loss."),
      row("label_smoothing", &D::label_smoothing,
          "The share of each label that all classes divide among them, 0 to 1; "
          "of the cross-entropies."),
      row("epsilon", &D::epsilon, "Added to what \"log\" takes logarithms of."),
      row("delta", &D::delta, "Where \"huber\" becomes linear; above 0."),
      row("number_of_classes", &D::number_of_classes,
          "By how many smoothing divides; 1: the number of channels."),
      row("reduce_across_batch", &D::reduce_across_batch,
          "The loss is one image for the whole batch; with mean it is divided "
          "by the number of images, too."),
      row("divides_by_non_zero_weights", &D::divides_by_non_zero_weights,
          "A sum is divided by the number of losses whose weight is not 0; it "
          "is 0 when there is none."));
}

template <class Node>
BoundClass<Node, FilterNode> bind_node_loss(py::module_& m, const char* name,
                                            const char* doc) {
  BoundClass<Node, FilterNode> type(m, name, doc);
  type.def(py::init([](const ImageNode& source, const ImageNode& labels,
                       const nodes::LossDescriptor& descriptor,
                       const std::optional<ImageNode>& weights,
                       const std::string& name) {
             return make_node<Node>(name, source, labels, descriptor,
                                    weights.value_or(ImageNode()));
           }),
           py::arg("source"), py::arg("labels"), py::arg("descriptor"),
           py::arg("weights") = py::none(), py::kw_only(),
           py::arg("name") = "");
  add_arguments(type, py::dict(py::arg("name") = kNodeNameDoc));
  return type;
}

}  // namespace

void bind_node_losses(py::module_& m) {
  bind_node_loss_descriptor(m);
  bind_node_loss<nodes::LossNode>(m, "LossNode", kLossNodeDoc)
      .def_property_readonly(
          "loss_image", &nodes::LossNode::loss_image,
          "(1, 1, 1) of each image, or, without a reduction, one per element, "
          "and of losses that sum over classes one per pixel. Exported.");
  bind_node_loss<nodes::ForwardLossNode>(m, "ForwardLossNode",
                                         kForwardLossNodeDoc);
  SimpleNode<nodes::InitialGradientNode, FilterNode>::bind(
      m, "InitialGradientNode",
      {"Ones of the size of `source`: the gradient of a loss by itself, which "
       "a "
       "training graph begins with."});
}

}  // namespace traingraph::python
