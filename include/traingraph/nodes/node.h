// SPDX-License-Identifier: MIT
// Filter nodes: a network as images and the filters between them, the backward
// half written out node by node. Follows MPSNN's node graph.
//
//   ImageNode image("image", {1, 28, 28});
//   ConvolutionNode conv(image, weights);
//   ReLUNode relu(conv.result_image());
//   GradientFilterNode g = relu.gradient_filter(incoming);
//   GradientFilterNode dx = conv.gradient_filter(g.result_image());
//
// All are handles: copies are the same node. Sizes are checked when a node is
// made, support by the device when a nodes::Graph is. Images are float32
// (batch, channels, height, width); nodes say (channels, height, width).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "traingraph/export.h"

namespace traingraph::nodes {

struct FilterState;
struct ImageState;
class FilterNode;
class GradientFilterNode;

/// The sizes of one image; the batch comes with the graph.
struct ImageSize {
  std::int64_t feature_channels = 1, height = 1, width = 1;
  bool operator==(const ImageSize&) const = default;
  TRAINGRAPH_API std::string to_string() const;
};

class TRAINGRAPH_API ImageNode {
 public:
  /// Makes a handle to no image.
  ImageNode() = default;
  /// An image that every run is given under `handle`. Throws InvalidArgument
  /// for an empty handle, ShapeError for a size below 1.
  ImageNode(std::string handle, ImageSize size);
  explicit operator bool() const { return state_ != nullptr; }
  bool operator==(const ImageNode&) const = default;

  ImageSize size() const;
  /// The name of the image where a graph takes or returns it; empty for a
  /// result that was given none.
  const std::string& handle() const;
  void set_handle(std::string handle) const;
  /// No gradient of training_graph() goes beyond this image.
  bool stop_gradient() const;
  void set_stop_gradient(bool stops) const;
  /// A graph returns it even if it is none of its result images.
  bool export_from_graph() const;
  void set_export_from_graph(bool exports) const;

  explicit ImageNode(std::shared_ptr<ImageState> state)
      : state_(std::move(state)) {}
  const std::shared_ptr<ImageState>& state() const& { return state_; }

 private:
  std::shared_ptr<ImageState> state_;
};

/// A state is what a filter leaves for its gradient filter, and what that
/// leaves for the data source. Filters give it.
class TRAINGRAPH_API StateNode {
 public:
  StateNode() = default;
  explicit operator bool() const { return filter_ != nullptr; }
  bool operator==(const StateNode&) const = default;
  /// Names the filter: "convolution.state".
  std::string name() const;
  /// A graph returns what is in it: of a convolution the gradients of weights
  /// and biases, of a normalization those of gamma and beta. Throws
  /// UnsupportedError for states that only the device can read.
  bool export_from_graph() const;
  void set_export_from_graph(bool exports) const;
  /// The filter that makes it.
  FilterNode filter() const;

  explicit StateNode(std::shared_ptr<FilterState> filter)
      : filter_(std::move(filter)) {}

 private:
  std::shared_ptr<FilterState> filter_;
};

/// Runs once per node that training_graph() makes: the new node, the filter
/// whose gradient it is (empty for a sum of gradients), the image whose
/// gradient its result is, and the gradient that it reads.
using NodeHandler = std::function<void(
    const FilterNode& gradient_node, const FilterNode& inference_node,
    const ImageNode& inference_source, const ImageNode& gradient_source)>;

class TRAINGRAPH_API FilterNode {
 public:
  /// Makes a handle to no filter.
  FilterNode() = default;
  explicit operator bool() const { return state_ != nullptr; }
  bool operator==(const FilterNode&) const = default;

  /// Names the class: "ConvolutionNode".
  std::string class_name() const;
  /// Errors, reports and pictures use it; unique in a graph. By default the
  /// class's, with a number in the graph: "convolution", "convolution_2".
  const std::string& name() const;
  void set_name(std::string name) const;
  std::vector<ImageNode> source_images() const;
  ImageNode result_image() const;
  /// The first of result_states(); empty when there is none.
  StateNode result_state() const;
  std::vector<StateNode> result_states() const;

  /// The node that computes the gradient of this filter's source from that of
  /// its result. Throws UnsupportedError naming the class when there is none:
  /// losses, whose result is a gradient already, gradient nodes, and filters
  /// without a derivative. InvalidArgument for a filter with several sources,
  /// whose gradients only the plural calls return, and unless `sources` holds
  /// one image; ShapeError unless that has the result's size.
  GradientFilterNode gradient_filter(const ImageNode& source) const;
  GradientFilterNode gradient_filter(
      const std::vector<ImageNode>& sources) const;
  /// Makes one node per source, in the order of the sources.
  std::vector<GradientFilterNode> gradient_filters(
      const ImageNode& source) const;
  std::vector<GradientFilterNode> gradient_filters(
      const std::vector<ImageNode>& sources) const;
  /// Makes gradient nodes of everything in front of this node, from the
  /// gradient of its result; without one from its result, which a LossNode or
  /// an InitialGradientNode made to be a gradient. Images that several filters
  /// read get the sum of their gradients. Returns the nodes whose results no
  /// other new node reads. Without a handler the gradient of an image has its
  /// handle.
  std::vector<FilterNode> training_graph(
      const ImageNode& source_gradient = {},
      const NodeHandler& node_handler = {}) const;

  explicit FilterNode(std::shared_ptr<FilterState> state)
      : state_(std::move(state)) {}
  const std::shared_ptr<FilterState>& state() const& { return state_; }

 private:
  std::shared_ptr<FilterState> state_;
};

/// The derivative of one filter: its result is the gradient of one source.
class TRAINGRAPH_API GradientFilterNode : public FilterNode {
 public:
  GradientFilterNode() = default;
  using FilterNode::FilterNode;
  /// Returns the same node; empty unless it is a gradient filter.
  static GradientFilterNode from(const FilterNode& node);
  /// The filter it is the gradient of, and which of its sources.
  FilterNode forward_filter() const;
  int source_index() const;
  /// MPSNN's arithmetic nodes tell the gradient of the second source by this.
  bool is_secondary_source_filter() const { return source_index() == 1; }
};

}  // namespace traingraph::nodes
