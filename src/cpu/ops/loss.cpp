// SPDX-License-Identifier: MIT
// Losses and their gradients: what the graph asks for becomes one LossPlan;
// the loops are in loss_element_loops.h and loss_class_loops.h.
#include <algorithm>
#include <optional>

#include "base/checked.h"
#include "cpu/float_types.h"
#include "cpu/ops/loss_class_loops.h"
#include "cpu/ops/loss_element_loops.h"
#include "cpu/strided_copy.h"
#include "cpu/typed_address.h"
#include "ops/loss_shapes.h"

namespace traingraph::cpu {
namespace {

/// The weights of a node: read as they are, or spread over the losses first.
struct Weights {
  int arg = -1;
  int spread = -1;  // scratch
  std::optional<StridedCopy> copy;

  const float* bind(std::span<std::byte* const> at) const {
    if (arg < 0) return nullptr;
    return floats(at[copy ? spread : arg]);
  }
};

Weights read_weights(NodeLowering& lowering, int input, const Shape& prediction,
                     LossPlan& plan) {
  Weights weights;
  if (!lowering.has(input)) return weights;
  const Shape& shape = lowering.input_shape(input);
  weights.arg = lowering.read(input);
  if (shape.num_elements() == 1) return weights;
  plan.has_many_weights = true;
  if (shape.num_elements() == plan.num_losses) return weights;
  const LossType type = plan.attrs.type;
  weights.spread =
      lowering.scratch(checked_bytes<float>(plan.num_losses, "scratch"));
  weights.copy = StridedCopy::broadcast(
      loss_weights_shape(type, prediction, shape).value(),
      element_loss_shape(type, prediction), sizeof(float));
  return weights;
}

/// Runs `run` after the weights are in place.
template <class Run>
BoundKernel with_weights(const Weights& weights, std::span<std::byte* const> at,
                         Run run) {
  if (!weights.copy) return run;
  return [run, copy = *weights.copy, from = at[weights.arg],
          to = at[weights.spread]] {
    copy(from, to);
    run();
  };
}

template <class T>
void run_loss(const LossPlan& plan, const LossArgs<T>& args) {
  switch (plan.attrs.type) {
    case LossType::SoftmaxCrossEntropy:
    case LossType::CategoricalCrossEntropy:
      return run_class_loss(plan, args);
    case LossType::CosineDistance:
      return run_cosine_loss(plan, args);
    default:
      with_formula(plan.attrs, [&](const auto& formula) {
        run_element_loss(formula, plan, args);
      });
  }
}

template <class T>
void run_loss_gradient(const LossPlan& plan, const LossArgs<T>& args) {
  switch (plan.attrs.type) {
    case LossType::SoftmaxCrossEntropy:
    case LossType::CategoricalCrossEntropy:
      return run_class_loss_gradient(plan, args);
    case LossType::CosineDistance:
      return run_cosine_loss_gradient(plan, args);
    default:
      with_formula(plan.attrs, [&](const auto& formula) {
        run_element_loss_gradient(formula, plan, args);
      });
  }
}

}  // namespace

LossPlan plan_loss(const LossAttrs& attrs, const Shape& prediction) {
  LossPlan plan;
  plan.attrs = attrs;
  plan.num_losses = element_loss_shape(attrs.type, prediction).num_elements();
  if (sums_over_classes(attrs.type)) {
    plan.samples = prediction[0];
    plan.classes = prediction[1];
    plan.inner = plan.num_losses / plan.samples;
  } else if (attrs.type == LossType::CosineDistance) {
    plan.samples = prediction[0];
    plan.inner = prediction.num_elements() / plan.samples;
  } else {
    plan.inner = plan.num_losses;
  }
  return plan;
}

double LossPlan::scale() const {
  const bool is_mean = attrs.reduction == ReductionType::Mean;
  return attrs.weight / (is_mean ? static_cast<double>(num_losses) : 1.0);
}

std::int64_t LossPlan::num_partials() const {
  if (!is_reduced()) return 0;
  if (attrs.type == LossType::CosineDistance) return samples;
  if (sums_over_classes(attrs.type)) {
    return samples * ((inner + kLossColumns - 1) / kLossColumns);
  }
  return (num_losses + kLossBlock - 1) / kLossBlock;
}

void finish_loss(const LossPlan& plan, const double* partials, float* result) {
  double sum = 0;
  const std::int64_t count = plan.num_partials();
  for (std::int64_t i = 0; i < count; ++i) sum += partials[i];
  result[0] = static_cast<float>(sum * plan.scale());
}

void lower_loss(NodeLowering& lowering) {
  enum { kPrediction, kLabels, kWeights };
  const auto& attrs = lowering.attrs<LossAttrs>();
  const Shape& shape = lowering.input_shape(kPrediction);
  LossPlan plan = plan_loss(attrs, shape);
  const int prediction = lowering.read(kPrediction);
  const int labels = lowering.read(kLabels);
  const Weights weights = read_weights(lowering, kWeights, shape, plan);
  const int result = lowering.write(0);
  int partials = -1;
  if (plan.is_reduced()) {
    partials =
        lowering.scratch(checked_bytes<double>(plan.num_partials(), "scratch"));
  }
  const DataType type = lowering.input_desc(kPrediction).data_type;
  visit_float_type(lowering, type, [&]<class T>(T) {
    lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
      LossArgs<T> args;
      args.prediction = typed<T>(at[prediction]);
      args.labels = floats(at[labels]);
      args.weights = weights.bind(at);
      args.result = floats(at[result]);
      if (partials >= 0) args.partials = typed<double>(at[partials]);
      return with_weights(weights, at, [=] { run_loss(plan, args); });
    });
  });
}

void lower_loss_gradient(NodeLowering& lowering) {
  enum { kGradient, kPrediction, kLabels, kWeights };
  const auto& attrs = lowering.attrs<LossAttrs>();
  const Shape& shape = lowering.input_shape(kPrediction);
  LossPlan plan = plan_loss(attrs, shape);
  const int gradient = lowering.read(kGradient);
  const int prediction = lowering.read(kPrediction);
  const int labels = lowering.read(kLabels);
  const Weights weights = read_weights(lowering, kWeights, shape, plan);
  const int dx = lowering.write(0);
  const DataType type = lowering.input_desc(kPrediction).data_type;
  visit_float_type(lowering, type, [&]<class T>(T) {
    lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
      LossArgs<T> args;
      args.prediction = typed<T>(at[prediction]);
      args.labels = floats(at[labels]);
      args.weights = weights.bind(at);
      args.gradient = floats(at[gradient]);
      args.dx = typed<T>(at[dx]);
      return with_weights(weights, at, [=] { run_loss_gradient(plan, args); });
    });
  });
}

}  // namespace traingraph::cpu
