// SPDX-License-Identifier: MIT
#include "traingraph/nodes/losses.h"

#include "nodes/filter_builder.h"
#include "traingraph/error.h"
#include "traingraph/losses.h"

namespace traingraph::nodes {
namespace {

std::vector<ImageNode> sources_of(const ImageNode& source,
                                  const ImageNode& labels,
                                  const ImageNode& weights) {
  std::vector<ImageNode> sources{source, labels};
  if (weights) sources.push_back(weights);
  return sources;
}

class LossState : public FilterState {
 public:
  LossState(const char* class_name, const ImageNode& source,
            const ImageNode& labels, const LossDescriptor& descriptor,
            const ImageNode& weights)
      : FilterState(class_name, sources_of(source, labels, weights)),
        descriptor_(descriptor) {
    traingraph::LossDescriptor{.loss_type = descriptor.type,
                               .reduction_type = descriptor.reduction,
                               .weight = descriptor.weight,
                               .label_smoothing = descriptor.label_smoothing,
                               .class_count = descriptor.number_of_classes,
                               .epsilon = descriptor.epsilon,
                               .delta = descriptor.delta}
        .validate();
    if (labels.size() == source.size()) return;
    throw ShapeError({.op = class_name,
                      .node = labels.handle(),
                      .what = "the labels do not have the prediction's size",
                      .expected = source.size().to_string(),
                      .got = labels.size().to_string(),
                      .hint = {}});
  }

 protected:
  const LossDescriptor& descriptor() const { return descriptor_; }
  LossAttrs attrs() const {
    return {.type = descriptor_.type,
            .reduction = ReductionType::None,
            .weight = descriptor_.weight,
            .label_smoothing = descriptor_.label_smoothing,
            .class_count = descriptor_.number_of_classes,
            .epsilon = descriptor_.epsilon,
            .delta = descriptor_.delta};
  }
  ValueId element_losses(FilterBuilder& b) const {
    return b.append(OpKind::Loss, attrs(), all_sources(b));
  }
  /// (N, 1, 1, 1), or the losses as images.
  ValueId reduced(FilterBuilder& b, ValueId losses) const {
    const Shape source = b.shape(b.source());
    ValueId images = losses;
    if (b.shape(losses).rank() == 3) {
      images = b.reshape(losses, {-1, 1, source[2], source[3]});
    } else if (b.shape(losses).rank() == 1) {
      images = b.reshape(losses, {-1, 1, 1, 1});
    }
    if (descriptor_.reduction == ReductionType::None) return images;
    return b.append(
        OpKind::Reduce,
        ReduceAttrs{.type = descriptor_.reduction, .axes = {1, 2, 3}},
        {images});
  }
  std::vector<ValueId> all_sources(FilterBuilder& b) const {
    std::vector<ValueId> all;
    for (int i = 0; i < b.num_sources(); ++i) all.push_back(b.source(i));
    return all;
  }

 private:
  LossDescriptor descriptor_;
};

struct LossWithGradientState : LossState {
  LossWithGradientState(const ImageNode& source, const ImageNode& labels,
                        const LossDescriptor& descriptor,
                        const ImageNode& weights)
      : LossState("LossNode", source, labels, descriptor, weights) {
    loss.producer = this;
    loss.id = id;
    loss.is_exported = true;
  }
  GradientForm gradient_form() const override { return GradientForm::None; }
  const char* no_gradient() const override {
    return "Its result is the gradient of its source.";
  }
  bool starts_gradient() const override { return true; }
  std::vector<ImageState*> images() override { return {&result, &loss}; }
  FilterAttributes attributes(const NodeProgram&) const override {
    return LossFilter{.descriptor = descriptor(), .returns_gradient = true};
  }
  const ImageState* loss_image() const override { return &loss; }
  ValueId lower(FilterBuilder& b) const override {
    const ValueId losses = element_losses(b);
    b.nodes().set_value(loss, reduced(b, losses));
    std::vector<ValueId> inputs = all_sources(b);
    inputs.insert(inputs.begin(), b.linear(b.zeros_like(losses), 1, 1));
    return b.append(OpKind::LossGradient, attrs(), std::move(inputs));
  }
  ImageState loss;
};

struct ForwardLossState : LossState {
  ForwardLossState(const ImageNode& source, const ImageNode& labels,
                   const LossDescriptor& descriptor, const ImageNode& weights)
      : LossState("ForwardLossNode", source, labels, descriptor, weights) {}
  FilterAttributes attributes(const NodeProgram&) const override {
    return LossFilter{.descriptor = descriptor()};
  }
  ValueId lower(FilterBuilder& b) const override {
    return reduced(b, element_losses(b));
  }
};

struct InitialGradientState : FilterState {
  explicit InitialGradientState(const ImageNode& source)
      : FilterState("InitialGradientNode", {source}) {}
  GradientForm gradient_form() const override { return GradientForm::None; }
  const char* no_gradient() const override {
    return "Its result is a gradient, and constant.";
  }
  bool starts_gradient() const override { return true; }
  FilterAttributes attributes(const NodeProgram&) const override {
    return InitialGradientFilter{};
  }
  ValueId lower(FilterBuilder& b) const override {
    return b.linear(b.zeros_like(b.source()), 1, 1);
  }
};

}  // namespace

LossNode::LossNode(const ImageNode& source, const ImageNode& labels,
                   const LossDescriptor& descriptor, const ImageNode& weights)
    : FilterNode(make_filter<LossWithGradientState>(source, labels, descriptor,
                                                    weights)) {}

ImageNode LossNode::loss_image() const {
  return ImageNode(std::shared_ptr<ImageState>(
      state(), &static_cast<LossWithGradientState&>(*state()).loss));
}

ForwardLossNode::ForwardLossNode(const ImageNode& source,
                                 const ImageNode& labels,
                                 const LossDescriptor& descriptor,
                                 const ImageNode& weights)
    : FilterNode(
          make_filter<ForwardLossState>(source, labels, descriptor, weights)) {}

InitialGradientNode::InitialGradientNode(const ImageNode& source)
    : FilterNode(make_filter<InitialGradientState>(source)) {}

}  // namespace traingraph::nodes
