// SPDX-License-Identifier: MIT
// The walk backward through the images.
#include <algorithm>
#include <map>
#include <unordered_set>

#include "nodes/gradient_filter.h"
#include "nodes/reach.h"
#include "traingraph/error.h"
#include "traingraph/nodes/filters.h"

namespace traingraph::nodes {
namespace {

class BackwardWalk {
 public:
  BackwardWalk(const NodeHandler& handler) : handler_(handler) {}

  void add(const ImageNode& of, const ImageNode& gradient) {
    gradients_[of.state().get()].push_back(gradient);
  }

  /// Visits filters from the last to the first, so that all gradients of an
  /// image are there when the filter is met that makes it.
  void run(const std::vector<FilterState*>& filters) {
    for (auto it = filters.rbegin(); it != filters.rend(); ++it) {
      differentiate(FilterNode((*it)->shared_from_this()));
    }
  }

  /// The new nodes that no other new one reads.
  std::vector<FilterNode> leaves() const {
    std::vector<FilterNode> leaves;
    for (const FilterNode& node : made_) {
      if (!read_.contains(node.result_image().state().get())) {
        leaves.push_back(node);
      }
    }
    return leaves;
  }

  /// Sums up the gradients of images that no filter makes.
  void finish() {
    std::vector<ImageNode> open;
    for (const auto& [image, gradients] : gradients_) {
      if (gradients.size() > 1) open.push_back(image_of_.at(image));
    }
    std::ranges::sort(open, {},
                      [](const ImageNode& i) { return i.state()->id; });
    for (const ImageNode& image : open) sum(image);
  }

 private:
  void differentiate(const FilterNode& filter) {
    const ImageNode result = filter.result_image();
    if (!gradients_.contains(result.state().get())) return;
    if (result.stop_gradient()) return;
    const ImageNode gradient = sum(result);
    const auto nodes = filter.gradient_filters(gradient);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const ImageNode source = filter.source_images()[i];
      if (is_given_label(filter, i)) continue;
      image_of_.emplace(source.state().get(), source);
      note(nodes[i], filter, source, gradient);
      add(source, nodes[i].result_image());
    }
  }

  /// Labels that no filter makes: nothing is behind them.
  static bool is_given_label(const FilterNode& filter, std::size_t source) {
    return filter.state()->gradient_form() ==
               GradientForm::PredictionAndLabels &&
           source == 1 &&
           filter.source_images()[1].state()->producer == nullptr;
  }

  ImageNode sum(const ImageNode& of) {
    std::vector<ImageNode>& gradients = gradients_.at(of.state().get());
    while (gradients.size() > 1) {
      const AdditionNode node(gradients[0], gradients[1]);
      read_.insert(gradients[0].state().get());
      note(node, FilterNode(), of, gradients[1]);
      gradients.erase(gradients.begin());
      gradients[0] = node.result_image();
    }
    return gradients.front();
  }

  void note(const FilterNode& node, const FilterNode& filter,
            const ImageNode& source, const ImageNode& gradient) {
    made_.push_back(node);
    read_.insert(gradient.state().get());
    if (handler_) return handler_(node, filter, source, gradient);
    node.result_image().set_handle(source.handle());
  }

  const NodeHandler& handler_;
  std::map<const ImageState*, std::vector<ImageNode>> gradients_;
  std::map<const ImageState*, ImageNode> image_of_;
  std::vector<FilterNode> made_;
  std::unordered_set<const ImageState*> read_;
};

}  // namespace

std::vector<FilterNode> FilterNode::training_graph(
    const ImageNode& source_gradient, const NodeHandler& node_handler) const {
  BackwardWalk walk(node_handler);
  const std::vector<FilterState*> filters = filters_behind({result_image()});
  if (source_gradient) {
    walk.add(result_image(), source_gradient);
    walk.run(filters);
  } else if (state_->starts_gradient()) {
    walk.add(state_->sources.front(), result_image());
    walk.run(filters);
  } else {
    throw InvalidArgument(
        {.op = "training_graph",
         .node = name_of(*state_),
         .what = "there is no gradient to begin with",
         .expected = "a source gradient, or a LossNode or InitialGradientNode",
         .got = state_->class_name + " and no source gradient",
         .hint = "Append an InitialGradientNode and call it on that."});
  }
  walk.finish();
  return walk.leaves();
}

}  // namespace traingraph::nodes
