// SPDX-License-Identifier: MIT
#include "traingraph/losses.h"

#include <utility>

#include "layers/layer_builder.h"
#include "layers/validate.h"

namespace traingraph {
namespace {

constexpr const char* kOp = "Loss";

LossDescriptor with_type(LossDescriptor descriptor, LossType type) {
  descriptor.loss_type = type;
  return descriptor;
}

}  // namespace

void LossDescriptor::validate() const {
  require_option(to_string(loss_type) != "?", kOp, "loss_type",
                 "a case of LossType",
                 std::to_string(static_cast<int>(loss_type)));
  require_option(reduction_type == ReductionType::None ||
                     reduction_type == ReductionType::Sum ||
                     reduction_type == ReductionType::Mean,
                 kOp, "reduction_type", "none, sum or mean",
                 std::string(to_string(reduction_type)));
  require_finite(kOp, "weight", weight);
  require_within(kOp, "label_smoothing", label_smoothing, 0, 1);
  require_positive(kOp, "class_count", class_count);
  require_finite(kOp, "epsilon", epsilon);
  require_option(epsilon >= 0, kOp, "epsilon", "at least 0",
                 format_value(epsilon));
  require_finite(kOp, "delta", delta);
  require_option(delta > 0, kOp, "delta", "above 0", format_value(delta));
}

namespace losses {

Loss::Loss(LossDescriptor descriptor, Tensor weights)
    : Loss(descriptor.loss_type, descriptor, std::move(weights), kOp) {}

Loss::Loss(LossType type, LossDescriptor options, Tensor weights,
           const char* label)
    : Layer(label),
      descriptor_(with_type(options, type)),
      weights_(std::move(weights)) {
  descriptor_.validate();
}

std::vector<Tensor> Loss::extra_sources() const {
  if (!weights_) return {};
  return {weights_};
}

void Loss::lower(LayerBuilder& builder) const {
  builder.require_sources(weights_ ? 3 : 2, 3);
  const LossAttrs attrs{.type = descriptor_.loss_type,
                        .reduction = descriptor_.reduction_type,
                        .weight = descriptor_.weight,
                        .label_smoothing = descriptor_.label_smoothing,
                        .class_count = descriptor_.class_count,
                        .epsilon = descriptor_.epsilon,
                        .delta = descriptor_.delta};
  std::vector<ValueId> inputs{builder.source(0), builder.source(1)};
  if (builder.num_sources() == 3) inputs.push_back(builder.source(2));
  builder.add_result(builder.append(OpKind::Loss, attrs, std::move(inputs)));
}

#define TRAINGRAPH_LOSS(Name)                        \
  Name::Name(LossDescriptor options, Tensor weights) \
      : Loss(LossType::Name, options, std::move(weights), #Name) {}

TRAINGRAPH_LOSS(MeanAbsoluteError)
TRAINGRAPH_LOSS(MeanSquaredError)
TRAINGRAPH_LOSS(SoftmaxCrossEntropy)
TRAINGRAPH_LOSS(SigmoidCrossEntropy)
TRAINGRAPH_LOSS(CategoricalCrossEntropy)
TRAINGRAPH_LOSS(Hinge)
TRAINGRAPH_LOSS(Huber)
TRAINGRAPH_LOSS(CosineDistance)
TRAINGRAPH_LOSS(Log)

#undef TRAINGRAPH_LOSS

}  // namespace losses
}  // namespace traingraph
