// SPDX-License-Identifier: MIT
#include "traingraph/nodes/losses.h"

#include "graph/op_def.h"
#include "layers/validate.h"
#include "nodes/label_gradient.h"
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
    require_reduction(class_name);
    if (labels.size() == source.size()) return;
    throw ShapeError(
        ErrorInfo{.op = class_name,
                  .node = labels.handle(),
                  .what = "the labels do not have the prediction's size",
                  .expected = source.size().to_string(),
                  .got = labels.size().to_string(),
                  .hint = {}});
  }

 protected:
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
  /// (N, 1, 1, 1), of the whole batch (1, 1, 1, 1), or the losses as images.
  ValueId reduced(FilterBuilder& b, ValueId losses) const {
    const Shape source = b.shape(b.source());
    ValueId images = losses;
    if (b.shape(losses).rank() == 3) {
      images = b.reshape(losses, {-1, 1, source[2], source[3]});
    } else if (b.shape(losses).rank() == 1) {
      images = b.reshape(losses, {-1, 1, 1, 1});
    }
    if (descriptor_.reduction == ReductionType::None) return images;
    if (!descriptor_.divides_by_non_zero_weights) return reduce(b, images);
    if (b.num_sources() < 3) return mean(b, images);
    return b.binary(ArithmeticOperation::DivideNoNaN, reduce(b, images),
                    reduce(b, are_weights_set(b, images)));
  }
  std::vector<ValueId> all_sources(FilterBuilder& b) const {
    std::vector<ValueId> all;
    for (int i = 0; i < b.num_sources(); ++i) all.push_back(b.source(i));
    return all;
  }
  const LossDescriptor& descriptor() const { return descriptor_; }

 private:
  void require_reduction(const char* class_name) const {
    const bool is_reduced = descriptor_.reduction != ReductionType::None;
    require_option(is_reduced || !descriptor_.reduce_across_batch, class_name,
                   "reduce_across_batch", "off without a reduction", "on");
    require_option(descriptor_.reduction == ReductionType::Sum ||
                       !descriptor_.divides_by_non_zero_weights,
                   class_name, "divides_by_non_zero_weights",
                   "off unless the reduction is a sum", "on");
  }
  ValueId reduce(FilterBuilder& b, ValueId images, ReductionType type) const {
    const Shape axes =
        descriptor_.reduce_across_batch ? Shape{0, 1, 2, 3} : Shape{1, 2, 3};
    return b.append(OpKind::Reduce, ReduceAttrs{.type = type, .axes = axes},
                    {images});
  }
  ValueId reduce(FilterBuilder& b, ValueId images) const {
    return reduce(b, images, descriptor_.reduction);
  }
  ValueId mean(FilterBuilder& b, ValueId images) const {
    return reduce(b, images, ReductionType::Mean);
  }
  /// 1 for each loss whose weight is not 0, else 0.
  static ValueId are_weights_set(FilterBuilder& b, ValueId images) {
    const ValueId weights = b.source(2);
    const ValueId ones = b.linear(b.zeros_like(images), 1, 1);
    return b.binary(
        ArithmeticOperation::Multiply, ones,
        b.binary(ArithmeticOperation::DivideNoNaN, weights, weights));
  }

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
  GradientForm gradient_form() const override {
    return GradientForm::PredictionAndLabels;
  }
  ValueId lower(FilterBuilder& b) const override {
    return reduced(b, element_losses(b));
  }
  ValueId lower_gradient(FilterBuilder& b, const FilterState& of, int index,
                         ValueId gradient) const override {
    gradient = of_loss_image(b, gradient);
    if (index == 0) return FilterState::lower_gradient(b, of, index, gradient);
    const LoweredFilter forward = b.nodes().lowered(of);
    Program& program = b.nodes().program();
    NodeId loss = forward.first;
    while (program.node(loss).op->kind != OpKind::Loss) ++loss;
    const ValueId losses = program.node(loss).outputs.front();
    const ValueId of_losses =
        differentiate_range(program, loss + 1, forward.end, forward.result,
                            gradient, {losses})
            .front();
    const auto& sources = forward.sources;
    return label_gradient(
        b, attrs(),
        {.prediction = sources[0],
         .labels = sources[1],
         .weights = sources.size() > 2 ? sources[2] : kNoValue},
        of_losses);
  }

 private:
  /// The one image of a whole batch stands for as many as there are.
  ValueId of_loss_image(FilterBuilder& b, ValueId gradient) const {
    if (!descriptor().reduce_across_batch || b.shape(gradient)[0] == 1) {
      return gradient;
    }
    return b.append(OpKind::Reduce,
                    ReduceAttrs{.type = ReductionType::Sum, .axes = {0}},
                    {gradient});
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
