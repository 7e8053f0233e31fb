// SPDX-License-Identifier: MIT
// Losses as filter nodes.
#include "nodes.h"

namespace traingraph::python {
namespace {

using nodes::FilterNode;
using nodes::ImageNode;

void bind_node_loss_descriptor(py::module_& m) {
  using D = nodes::LossDescriptor;
  bind_descriptor<D>(
      m, "NodeLossDescriptor",
      "Formulas are those of traingraph.losses; classes are "
      "channels. reduction: \"none\", \"sum\" or \"mean\" of the "
      "loss of each image.",
      required("type", &D::type), row("reduction", &D::reduction),
      row("weight", &D::weight), row("label_smoothing", &D::label_smoothing),
      row("epsilon", &D::epsilon), row("delta", &D::delta),
      row("number_of_classes", &D::number_of_classes),
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
  return type;
}

}  // namespace

void bind_node_losses(py::module_& m) {
  bind_node_loss_descriptor(m);
  bind_node_loss<nodes::LossNode>(
      m, "LossNode",
      "The result is the gradient of the loss by `source`, element by element, "
      "not divided by anything; the loss is loss_image. `labels` and "
      "`weights`, if any, have the source's size; weights may have its loss's.")
      .def_property_readonly(
          "loss_image", &nodes::LossNode::loss_image,
          "(1, 1, 1) of each image, or, without a reduction, one per element, "
          "and of losses that sum over classes one per pixel. Exported.");
  bind_node_loss<nodes::ForwardLossNode>(
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
