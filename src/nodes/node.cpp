// SPDX-License-Identifier: MIT
// The handles, and what the four gradient calls promise.
#include "traingraph/nodes/node.h"

#include "base/format.h"
#include "nodes/gradient_filter.h"
#include "traingraph/error.h"
#include "traingraph/types.h"

namespace traingraph::nodes {
namespace {

const std::string kNoText;

void require_size(const std::string& handle, const ImageSize& size) {
  if (size.feature_channels > 0 && size.height > 0 && size.width > 0) return;
  throw ShapeError(ErrorInfo{.op = "ImageNode",
                             .node = handle,
                             .what = "a size is not positive",
                             .expected = "sizes of at least 1",
                             .got = size.to_string(),
                             .hint = {}});
}

[[noreturn]] void fail_gradient(const FilterState& state, std::string expected,
                                std::string got, std::string hint) {
  throw InvalidArgument(
      ErrorInfo{.op = "gradient_filter",
                .node = name_of(state),
                .what = "the gradient cannot be asked for like that",
                .expected = std::move(expected),
                .got = std::move(got),
                .hint = std::move(hint)});
}

const ImageNode& only(const FilterState& state,
                      const std::vector<ImageNode>& sources) {
  if (sources.size() == 1) return sources.front();
  fail_gradient(state, "1 image, the gradient of the result",
                std::to_string(sources.size()) + " images", {});
}

GradientFilterNode make_gradient(const std::shared_ptr<FilterState>& of,
                                 int index, const ImageNode& gradient) {
  return GradientFilterNode(make_filter<GradientState>(of, index, gradient));
}

void require_gradient(const FilterState& state) {
  if (state.gradient_form() != GradientForm::None) return;
  throw UnsupportedError(
      ErrorInfo{.op = "gradient_filter",
                .node = name_of(state),
                .what = "this filter has no gradient filter",
                .expected = "a filter with a derivative in MPSNN",
                .got = state.class_name,
                .hint = state.no_gradient()});
}

}  // namespace

std::string name_of(const FilterState& state) {
  return state.name.empty() ? state.class_name : state.name;
}

std::string ImageSize::to_string() const {
  return Shape{feature_channels, height, width}.to_string();
}

ImageNode::ImageNode(std::string handle, ImageSize size) {
  if (handle.empty()) {
    throw InvalidArgument(
        ErrorInfo{.op = "ImageNode",
                  .node = {},
                  .what = "an image that runs are given has no handle",
                  .expected = "a name",
                  .got = "none",
                  .hint = {}});
  }
  require_size(handle, size);
  state_ = std::make_shared<ImageState>();
  state_->handle = std::move(handle);
  state_->size = size;
  state_->id = next_node_id();
}

ImageSize ImageNode::size() const { return state_->size; }
const std::string& ImageNode::handle() const {
  return state_ ? state_->handle : kNoText;
}
void ImageNode::set_handle(std::string handle) const {
  state_->handle = std::move(handle);
}
bool ImageNode::stop_gradient() const { return state_->stops_gradient; }
void ImageNode::set_stop_gradient(bool stops) const {
  state_->stops_gradient = stops;
}
bool ImageNode::export_from_graph() const { return state_->is_exported; }
void ImageNode::set_export_from_graph(bool exports) const {
  state_->is_exported = exports;
}

std::string StateNode::name() const { return name_of(*filter_) + ".state"; }
bool StateNode::export_from_graph() const { return filter_->exports_state; }
FilterNode StateNode::filter() const { return FilterNode(filter_); }
void StateNode::set_export_from_graph(bool exports) const {
  if (exports && !filter_->is_trainable()) {
    throw UnsupportedError(
        ErrorInfo{.op = "export_from_graph",
                  .node = name_of(*filter_),
                  .what = "only the device can read this state",
                  .expected = "the state of a filter with weights",
                  .got = "that of a " + filter_->class_name,
                  .hint = {}});
  }
  filter_->exports_state = exports;
}

std::string FilterNode::class_name() const { return state_->class_name; }
const std::string& FilterNode::name() const { return state_->name; }
void FilterNode::set_name(std::string name) const {
  state_->name = std::move(name);
}
std::vector<ImageNode> FilterNode::source_images() const {
  return state_->sources;
}
ImageNode FilterNode::result_image() const { return result_of(state_); }

StateNode FilterNode::result_state() const {
  return state_->gradient_form() == GradientForm::None ? StateNode()
                                                       : StateNode(state_);
}

std::vector<StateNode> FilterNode::result_states() const {
  const StateNode state = result_state();
  return state ? std::vector{state} : std::vector<StateNode>{};
}

GradientFilterNode FilterNode::gradient_filter(const ImageNode& source) const {
  require_gradient(*state_);
  if (state_->gradient_form() == GradientForm::EachSource) {
    fail_gradient(*state_, "gradient_filters(), one node for each source",
                  "gradient_filter() of a filter with " +
                      std::to_string(state_->sources.size()) + " sources",
                  "Ask for all and take those that you need.");
  }
  return make_gradient(state_, 0, source);
}

GradientFilterNode FilterNode::gradient_filter(
    const std::vector<ImageNode>& sources) const {
  require_gradient(*state_);
  return gradient_filter(only(*state_, sources));
}

std::vector<GradientFilterNode> FilterNode::gradient_filters(
    const ImageNode& source) const {
  require_gradient(*state_);
  if (state_->gradient_form() == GradientForm::OneSource) {
    return {make_gradient(state_, 0, source)};
  }
  const bool is_loss =
      state_->gradient_form() == GradientForm::PredictionAndLabels;
  const std::size_t count = is_loss ? 2 : state_->sources.size();
  std::vector<GradientFilterNode> nodes;
  for (std::size_t i = 0; i < count; ++i) {
    nodes.push_back(make_gradient(state_, static_cast<int>(i), source));
  }
  return nodes;
}

std::vector<GradientFilterNode> FilterNode::gradient_filters(
    const std::vector<ImageNode>& sources) const {
  require_gradient(*state_);
  return gradient_filters(only(*state_, sources));
}

GradientFilterNode GradientFilterNode::from(const FilterNode& node) {
  const bool is_one = node && node.state()->forward() != nullptr;
  return is_one ? GradientFilterNode(node.state()) : GradientFilterNode();
}

FilterNode GradientFilterNode::forward_filter() const {
  return FilterNode(gradient_state(*state()).of());
}

int GradientFilterNode::source_index() const {
  return gradient_state(*state()).index();
}

}  // namespace traingraph::nodes
