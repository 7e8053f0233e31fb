// SPDX-License-Identifier: MIT
#include "traingraph/losses.h"

#include <cmath>
#include <limits>
#include <utility>

#include "layers/layer_builder.h"
#include "layers/validate.h"
#include "ops/loss_options.h"
#include "ops/loss_shapes.h"

namespace traingraph {
namespace {

constexpr const char* kLoss = "Loss";

LossDescriptor with_type(LossDescriptor descriptor, LossType type) {
  require_option(descriptor.loss_type == LossDescriptor{}.loss_type ||
                     descriptor.loss_type == type,
                 kLoss, "loss_type", std::string(to_string(type)),
                 std::string(to_string(descriptor.loss_type)),
                 "The class has its own.");
  descriptor.loss_type = type;
  return descriptor;
}

LossAttrs attrs_of(const LossDescriptor& descriptor) {
  return {.type = descriptor.loss_type,
          .reduction = descriptor.reduction_type,
          .weight = descriptor.weight,
          .label_smoothing = descriptor.label_smoothing,
          .class_count = descriptor.class_count,
          .epsilon = descriptor.epsilon,
          .delta = descriptor.delta,
          .ignore_index = descriptor.ignore_index};
}

/// The softmax of one class is 1, whatever the network says.
void require_two_classes(const LayerBuilder& builder, LossType type) {
  const Shape& prediction = builder.shape(builder.source(0));
  if (type != LossType::SoftmaxCrossEntropy || prediction.rank() < 2) return;
  if (prediction[1] != 1) return;
  throw ShapeError(ErrorInfo{
      .op = "SoftmaxCrossEntropy",
      .node = builder.name(),
      .what = "the prediction has one class, on axis 1",
      .expected = "scores of two classes or more",
      .got = prediction.to_string(),
      .hint = "A single score goes with SigmoidCrossEntropy; an axis of one "
              "step goes by h[:, 0], and sequences have their classes on axis "
              "1 by h.transpose(0, 2, 1)."});
}

/// Checks class weights as far as they have values.
void require_class_weights(const Tensor& weights) {
  require_parameter(kLoss, "class_weights", weights, {weights.shape()});
  if (!weights.has_data()) return;
  for (const float weight : weights.floats()) {
    require_option(std::isfinite(weight) && weight >= 0, kLoss, "class_weights",
                   "finite numbers, at least 0", format_value(weight));
  }
}

}  // namespace

void LossDescriptor::validate() const {
  require_option(to_string(loss_type) != "?", kLoss, "loss_type",
                 "a case of LossType",
                 std::to_string(static_cast<int>(loss_type)));
  require_option(reduction_type == ReductionType::None ||
                     reduction_type == ReductionType::Sum ||
                     reduction_type == ReductionType::Mean,
                 kLoss, "reduction_type", "none, sum or mean",
                 std::string(to_string(reduction_type)));
  require_finite(kLoss, "weight", weight);
  require_within(kLoss, "label_smoothing", label_smoothing, 0, 1);
  require_positive(kLoss, "class_count", class_count);
  require_finite(kLoss, "epsilon", epsilon);
  require_option(epsilon >= 0, kLoss, "epsilon", "at least 0",
                 format_value(epsilon));
  require_finite(kLoss, "delta", delta);
  require_option(delta > 0, kLoss, "delta", "above 0", format_value(delta));
  using Limits = std::numeric_limits<std::int32_t>;
  require_option(ignore_index >= Limits::min() && ignore_index <= Limits::max(),
                 kLoss, "ignore_index", "a number that fits into 32 bits",
                 std::to_string(ignore_index));

  if (const auto unused = find_unused_option(attrs_of(*this))) {
    require_option(false, kLoss, unused->name.c_str(), unused->expected,
                   unused->got);
  }
}

namespace losses {

Loss::Loss(LossDescriptor descriptor, Tensor weights, Tensor class_weights)
    : Loss(descriptor.loss_type, descriptor, std::move(weights),
           std::move(class_weights), kLoss) {}

Loss::Loss(LossType type, LossDescriptor options, Tensor weights,
           Tensor class_weights, const char* class_name)
    : Layer(class_name),
      descriptor_(with_type(options, type)),
      weights_(std::move(weights)),
      class_weights_(std::move(class_weights)) {
  descriptor_.validate();
  require_option(
      sums_over_classes(type) || !class_weights_, kLoss, "class_weights",
      "none: " + std::string(to_string(type)) + " has no classes", "a tensor");
  if (class_weights_) require_class_weights(class_weights_);
}

std::vector<Tensor> Loss::extra_sources() const {
  return extra_sources_with(weights_);
}

std::vector<Tensor> Loss::extra_sources_with(const Tensor& weights) const {
  std::vector<Tensor> sources;
  for (const Tensor& tensor : {weights, class_weights_}) {
    if (tensor) sources.push_back(tensor);
  }
  return sources;
}

bool Loss::supports_data_type(DataType data_type, const Device& device) {
  return takes(OpKind::Loss, data_type, device);
}

void Loss::lower(LayerBuilder& builder) const {
  const int num_class_weights = class_weights_ ? 1 : 0;
  builder.require_sources((weights_ ? 3 : 2) + num_class_weights,
                          3 + num_class_weights);
  const LossAttrs attrs = attrs_of(descriptor_);
  require_two_classes(builder, attrs.type);
  std::vector<ValueId> inputs{builder.source(0), builder.source(1)};
  // Weights of classes are last: without weights the op's third is absent.
  const int num_weights = builder.num_sources() - 2 - num_class_weights;
  inputs.push_back(num_weights == 1 ? builder.source(2) : kNoValue);
  if (class_weights_) inputs.push_back(builder.source(2 + num_weights));
  builder.add_result(builder.append(OpKind::Loss, attrs, std::move(inputs)));
}

#define TRAINGRAPH_LOSS(Name)                        \
  Name::Name(LossDescriptor options, Tensor weights) \
      : Loss(LossType::Name, options, std::move(weights), {}, #Name) {}
#define TRAINGRAPH_CLASS_LOSS(Name)                                        \
  Name::Name(LossDescriptor options, Tensor weights, Tensor class_weights) \
      : Loss(LossType::Name, options, std::move(weights),                  \
             std::move(class_weights), #Name) {}

TRAINGRAPH_LOSS(MeanAbsoluteError)
TRAINGRAPH_LOSS(MeanSquaredError)
TRAINGRAPH_CLASS_LOSS(SoftmaxCrossEntropy)
TRAINGRAPH_LOSS(SigmoidCrossEntropy)
TRAINGRAPH_CLASS_LOSS(CategoricalCrossEntropy)
TRAINGRAPH_LOSS(Hinge)
TRAINGRAPH_LOSS(Huber)
TRAINGRAPH_LOSS(CosineDistance)
TRAINGRAPH_LOSS(Log)
TRAINGRAPH_LOSS(KullbackLeiblerDivergence)

#undef TRAINGRAPH_LOSS
#undef TRAINGRAPH_CLASS_LOSS

}  // namespace losses
}  // namespace traingraph
