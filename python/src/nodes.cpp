// SPDX-License-Identifier: MIT
// Images, states, filters and gradient filters.
#include "nodes.h"

namespace traingraph::python {
namespace {

using nodes::FilterNode;
using nodes::GradientFilterNode;
using nodes::ImageNode;
using nodes::StateNode;

/// A GradientFilterNode or TrainableNode where it is one.
using NodeObject = Named<"traingraph._core.FilterNode">;
using OptionalNode = Named<"traingraph._core.FilterNode | None">;
using Handler = py::typing::Callable<py::object(FilterNode, OptionalNode,
                                                ImageNode, ImageNode)>;

py::object object_of(const FilterNode& node) {
  if (!node) return py::none();
  const GradientFilterNode gradient = GradientFilterNode::from(node);
  if (gradient) return py::cast(gradient);
  const auto trainable = nodes::TrainableNode::from(node);
  return trainable ? py::cast(trainable) : py::cast(node);
}

NodeObject node_object(const FilterNode& node) {
  return NodeObject(object_of(node));
}

/// Handles are equal when they are the same node.
template <class Node>
void bind_identity(BoundClass<Node>& type) {
  type.def("__eq__",
           [](const Node& self, const py::object& other) {
             return py::isinstance<Node>(other) &&
                    self == other.cast<const Node&>();
           })
      .def("__copy__", [](const Node& self) { return Node(self); });
}

constexpr const char* kPaddingNodeDoc = R"pbdoc(
    Where the windows of a filter lie.

    With k' = (k - 1) * dilation + 1 and p = -1, 0, 1 for "valid_only", "same"
    and "full", a source of n samples gives floor((n + p * (k' - 1) + stride - 1)
    / stride) results. What their windows span beyond the image lies outside of
    it as alignment says. Nodes also take the name of the extent alone.

    Args:
        extent: How much may lie outside: "valid_only", "same" or "full".
        alignment: Where it lies: "centered", "top_left" (the first window
            begins with the image) or "bottom_right" (the last ends with it).
        remainder: Where an odd sample of centered windows lies: "top_left",
            "top_right", "bottom_left" or "bottom_right".

    Example:
        >>> image = tg.nodes.ImageNode("image", (4, 9, 9))
        >>> same = tg.nodes.PaddingPolicy("same", "top_left")
        >>> node = tg.nodes.PoolingMaxNode(image, 2, padding=same)
        >>> node.result_image.size
        (4, 5, 5)
)pbdoc";

void bind_padding_node(py::module_& m) {
  using nodes::PaddingPolicy;  // layers have one, too
  BoundClass<PaddingPolicy> type(m, "NodePaddingPolicy", kPaddingNodeDoc);
  type.def(py::init([](PaddingExtent extent, PaddingAlignment alignment,
                       PaddingRemainder remainder) {
             return PaddingPolicy{extent, alignment, remainder};
           }),
           py::arg("extent") = "same", py::arg("alignment") = "centered",
           py::arg("remainder") = "bottom_right")
      .def_readonly("extent", &PaddingPolicy::extent)
      .def_readonly("alignment", &PaddingPolicy::alignment)
      .def_readonly("remainder", &PaddingPolicy::remainder);
  bind_value(type);
}

constexpr const char* kImageDoc = R"pbdoc(
    An image that every run of a graph is given.

    Results of filters are images, too. Images that are equal are the same.

    Args:
        handle: The name under which runs are given it.
        size: (channels, height, width); the batch comes with the graph.

    Raises:
        InvalidArgument: for an empty handle.
        ShapeError: for a size below 1.

    Example:
        >>> image = tg.nodes.ImageNode("image", (1, 28, 28))
        >>> image.handle, image.size
        ('image', (1, 28, 28))
)pbdoc";

void bind_image(py::module_& m) {
  BoundClass<ImageNode> type(m, "ImageNode", kImageDoc);
  type.def(py::init<std::string, nodes::ImageSize>(), py::arg("handle"),
           py::arg("size"))
      .def_property_readonly("size", &ImageNode::size,
                             "(channels, height, width).")
      .def_property("handle", &ImageNode::handle, &ImageNode::set_handle,
                    "The name of the image where a graph takes or returns it; "
                    "empty for a result that was given none.")
      .def_property("stop_gradient", &ImageNode::stop_gradient,
                    &ImageNode::set_stop_gradient,
                    "No gradient of training_graph() goes beyond this image.")
      .def_property("export_from_graph", &ImageNode::export_from_graph,
                    &ImageNode::set_export_from_graph,
                    "A graph returns it even if it is none of its result "
                    "images.")
      .def("__hash__",
           [](const ImageNode& self) {
             return std::hash<const void*>()(self.state().get());
           })
      .def("__repr__", [](const ImageNode& self) {
        return "ImageNode(\"" + self.handle() + "\", " +
               self.size().to_string() + ")";
      });
  bind_identity(type);
}

void bind_state(py::module_& m) {
  BoundClass<StateNode> type(m, "StateNode", R"pbdoc(
    What a filter leaves for its gradient filter, and that for the data source.

    FilterNode.result_state and result_states give them.

    Example:
        >>> image = tg.nodes.ImageNode("image", (1, 8, 8))
        >>> weights = tg.nodes.ConvolutionData(np.zeros((4, 3, 3, 1)))
        >>> node = tg.nodes.ConvolutionNode(image, weights, name="first")
        >>> node.result_state.name
        'first.state'
)pbdoc");
  type.def_property_readonly(
          "name", &StateNode::name,
          "The name of the filter and \".state\": \"convolution.state\".")
      .def_property("export_from_graph", &StateNode::export_from_graph,
                    &StateNode::set_export_from_graph,
                    "A graph returns what is in it: of a convolution the "
                    "gradients of weights and biases, of a normalization those "
                    "of gamma and beta. Raises UnsupportedError for states "
                    "that only the device can read.")
      .def_property_readonly(
          "filter",
          [](const StateNode& self) { return node_object(self.filter()); },
          "The filter that makes it.")
      .def("__hash__", [](const StateNode& self) {
        return std::hash<const void*>()(self.filter().state().get());
      });
  bind_identity(type);
}

std::optional<StateNode> result_state(const FilterNode& self) {
  const StateNode state = self.result_state();
  return state ? std::optional(state) : std::nullopt;
}

std::vector<NodeObject> training_graph(
    const FilterNode& self, const std::optional<ImageNode>& source_gradient,
    const std::optional<Handler>& handler) {
  nodes::NodeHandler call;
  if (handler) {
    call = [&](const FilterNode& node, const FilterNode& inference,
               const ImageNode& source, const ImageNode& gradient) {
      (*handler)(object_of(node), object_of(inference), source, gradient);
    };
  }
  std::vector<NodeObject> leaves;
  for (const FilterNode& leaf :
       self.training_graph(source_gradient.value_or(ImageNode()), call)) {
    leaves.push_back(node_object(leaf));
  }
  return leaves;
}

constexpr const char* kNodeGradientDoc = R"pbdoc(
    The node that computes the gradient of this filter's source.

    Args:
        source: The gradient of this filter's result, of its size.
        sources: A list of that one image.

    Returns:
        GradientFilterNode: Its result is the gradient of the source.

    Raises:
        UnsupportedError: for losses, gradient nodes and filters without a
            derivative.
        InvalidArgument: for filters of several sources, whose gradients only
            gradient_filters() gives, and for a list of not one image.
        ShapeError: for an image of another size than the result's.

    Example:
        >>> image = tg.nodes.ImageNode("image", (4, 8, 8))
        >>> above = tg.nodes.ImageNode("gradient", (4, 8, 8))
        >>> node = tg.nodes.ReLUNode(image).gradient_filter(above)
        >>> node.class_name
        'ReLUGradientNode'
)pbdoc";
constexpr const char* kGradientsDoc = R"pbdoc(
    One gradient node for each source, in the order of the sources.

    Args:
        source: The gradient of this filter's result, of its size.
        sources: A list of that one image.

    Returns:
        list[GradientFilterNode]: One for each of source_images.

    Raises:
        UnsupportedError: for losses, gradient nodes and filters without a
            derivative.
        InvalidArgument: for a list of not one image.
        ShapeError: for an image of another size than the result's.

    Example:
        >>> x = tg.nodes.ImageNode("x", (4, 8, 8))
        >>> y = tg.nodes.ImageNode("y", (4, 8, 8))
        >>> above = tg.nodes.ImageNode("gradient", (4, 8, 8))
        >>> len(tg.nodes.MultiplicationNode(x, y).gradient_filters(above))
        2
)pbdoc";
constexpr const char* kTrainingGraphDoc = R"pbdoc(
    Makes gradient nodes of everything in front of this node.

    Images that several filters read get the sum of their gradients. Without a
    handler the gradient of an image has its handle.

    Args:
        source_gradient: The gradient of this node's result. None: the result is
            one, as that of LossNode and InitialGradientNode.
        node_handler: Is called with each new node: (gradient_node,
            inference_node, inference_source, gradient_source), the second one
            None for a sum of gradients.

    Returns:
        list[FilterNode]: The nodes whose results no other new node reads.

    Raises:
        InvalidArgument: without a gradient to begin with.
        UnsupportedError: for filters without a derivative.

    Example:
        >>> image = tg.nodes.ImageNode("image", (4, 8, 8))
        >>> labels = tg.nodes.ImageNode("labels", (4, 8, 8))
        >>> relu = tg.nodes.ReLUNode(image)
        >>> squares = tg.nodes.LossDescriptor("mean_squared_error")
        >>> loss = tg.nodes.LossNode(relu.result_image, labels, squares)
        >>> [leaf.class_name for leaf in loss.training_graph()]
        ['ReLUGradientNode']
)pbdoc";

void bind_filter(py::module_& m) {
  BoundClass<FilterNode> type(m, "FilterNode", R"pbdoc(
    A filter: source images and a result image.

    Nodes that are equal are the same filter. Its classes make them.

    Example:
        >>> image = tg.nodes.ImageNode("image", (4, 8, 8))
        >>> node = tg.nodes.ReLUNode(image)
        >>> isinstance(node, tg.nodes.FilterNode), node.source_images == [image]
        (True, True)
)pbdoc");
  // Before a signature mentions it.
  BoundClass<GradientFilterNode, FilterNode> gradient(m, "GradientFilterNode",
                                                      R"pbdoc(
    The derivative of one filter: its result is the gradient of one source.

    FilterNode.gradient_filter() and training_graph() make them.

    Example:
        >>> image = tg.nodes.ImageNode("image", (4, 8, 8))
        >>> relu = tg.nodes.ReLUNode(image)
        >>> node = relu.gradient_filter(tg.nodes.ImageNode("gradient", (4, 8, 8)))
        >>> node.forward_filter == relu, node.source_index
        (True, 0)
)pbdoc");
  type.def_property_readonly("class_name", &FilterNode::class_name,
                             "The name of its class: \"ConvolutionNode\".")
      .def_property("name", &FilterNode::name, &FilterNode::set_name,
                    "Errors, reports and pictures use it. Empty: that of the "
                    "class, with a number in the graph: \"convolution\", "
                    "\"convolution_2\".")
      .def_property_readonly("source_images", &FilterNode::source_images,
                             "The images that it reads.")
      .def_property_readonly("result_image", &FilterNode::result_image,
                             "The image that it writes.")
      .def_property_readonly("result_state", &result_state,
                             "The first of result_states, or None.")
      .def_property_readonly("result_states", &FilterNode::result_states,
                             "What it leaves for its gradient filter.");
  using One = const ImageNode&;
  using Several = const std::vector<ImageNode>&;
  type.def("gradient_filter",
           py::overload_cast<One>(&FilterNode::gradient_filter, py::const_),
           py::arg("source"), kNodeGradientDoc)
      .def("gradient_filter",
           py::overload_cast<Several>(&FilterNode::gradient_filter, py::const_),
           py::arg("sources"), kNodeGradientDoc)
      .def("gradient_filters",
           py::overload_cast<One>(&FilterNode::gradient_filters, py::const_),
           py::arg("source"), kGradientsDoc)
      .def(
          "gradient_filters",
          py::overload_cast<Several>(&FilterNode::gradient_filters, py::const_),
          py::arg("sources"), kGradientsDoc)
      .def("training_graph", &training_graph,
           py::arg("source_gradient") = py::none(),
           py::arg("node_handler") = py::none(), kTrainingGraphDoc)
      .def("__hash__",
           [](const FilterNode& self) {
             return std::hash<const void*>()(self.state().get());
           })
      .def("__repr__", [](const FilterNode& self) {
        const std::string name =
            self.name().empty() ? "" : "\"" + self.name() + "\": ";
        return self.class_name() + "(" + name +
               self.result_image().size().to_string() + ")";
      });
  bind_identity(type);
  gradient
      .def_property_readonly(
          "forward_filter",
          [](const GradientFilterNode& self) {
            return node_object(self.forward_filter());
          },
          "The filter it is the gradient of.")
      .def_property_readonly("source_index", &GradientFilterNode::source_index,
                             "Which source of that one.")
      .def_property_readonly("is_secondary_source_filter",
                             &GradientFilterNode::is_secondary_source_filter,
                             "Is it the gradient of the second source of an "
                             "arithmetic filter?");
  using nodes::TrainableNode;
  BoundClass<TrainableNode, FilterNode>(m, "TrainableNode", R"pbdoc(
    A filter with weights of a data source.

    Example:
        >>> image = tg.nodes.ImageNode("image", (1, 8, 8))
        >>> weights = tg.nodes.ConvolutionData(
        ...     np.zeros((4, 3, 3, 1)), optimizer=tg.optimizers.Adam()
        ... )
        >>> node = tg.nodes.ConvolutionNode(image, weights)
        >>> isinstance(node, tg.nodes.TrainableNode), node.training_style.name
        (True, 'gpu')
)pbdoc")
      .def_property("training_style", &TrainableNode::training_style,
                    &TrainableNode::set_training_style,
                    "Who updates the weights, when the graph has their "
                    "gradient: \"gpu\" (the device), \"cpu\" (the data source) "
                    "or \"none\".");
}

}  // namespace

void bind_node_base(py::module_& m) {
  bind_padding_node(m);
  bind_image(m);
  bind_state(m);
  bind_filter(m);
}

void bind_nodes(py::module_& m) {
  bind_node_base(m);
  bind_node_weights(m);
  bind_node_pooling(m);
  bind_node_neurons(m);
  bind_node_contrast(m);
  bind_node_arithmetic(m);
  bind_node_structure(m);
  bind_node_losses(m);
  bind_node_graph(m);
}

}  // namespace traingraph::python
