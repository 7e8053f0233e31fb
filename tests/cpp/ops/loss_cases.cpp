// SPDX-License-Identifier: MIT
// Cases of the losses: every type, reduction, option and form of weights, and
// loss_gradient as a forward op.
#include "ops/cases.h"
#include "ops/loss_options.h"

namespace traingraph::testing {
namespace {

struct Operands {
  Domain prediction, labels;
};

/// Predictions and labels that a loss is for, where it is smooth.
Operands operands_of(const LossAttrs& attrs) {
  // Away from prediction == label; the Huber loss bends at delta only.
  const auto beside_labels = [](double gap, double reach) {
    return Operands{uniform(gap, reach), uniform(-1, 0)};
  };
  switch (attrs.type) {
    case LossType::MeanAbsoluteError:
      return beside_labels(0.1, 1);
    case LossType::Huber:
      // |difference| is in (0, 0.9 delta) or (1.1 delta, ...).
      return attrs.delta > 1 ? Operands{uniform(-0.4, 0.4), uniform(-0.5, 0.5)}
                             : beside_labels(1.1 * attrs.delta, 2);
    case LossType::SoftmaxCrossEntropy:
      return {uniform(-3, 3), one_hot()};
    case LossType::SigmoidCrossEntropy:
      return {uniform(-3, 3), booleans()};
    case LossType::CategoricalCrossEntropy:
      return {distribution(), one_hot()};
    case LossType::Hinge:
      return {avoiding({-1, 1}, -2, 2), booleans()};
    case LossType::Log:
      return {uniform(0.1, 0.9), booleans()};
    case LossType::KullbackLeiblerDivergence:
      return {uniform(-3, 0), distribution()};
    default:
      return {uniform(), uniform()};
  }
}

bool sums_over_classes(LossType type) {
  return type == LossType::SoftmaxCrossEntropy ||
         type == LossType::CategoricalCrossEntropy;
}

/// The shape before reduction.
Shape losses_of(LossType type, const Shape& prediction) {
  if (type == LossType::CosineDistance) return {prediction[0]};
  if (!sums_over_classes(type)) return prediction;
  Shape shape;
  for (int axis = 0; axis < prediction.rank(); ++axis) {
    if (axis != 1) shape.push_back(prediction[axis]);
  }
  return shape;
}

void add(OpCases& cases, const LossAttrs& attrs, const Shape& prediction,
         const Shape& weights = {}) {
  const Operands operands = operands_of(attrs);
  std::vector<CaseInput> inputs{{prediction, operands.prediction},
                                {prediction, operands.labels}};
  if (!weights.empty()) inputs.push_back({weights, uniform(0.2, 2)});
  cases.push_back({.op = OpKind::Loss,
                   .attrs = attrs,
                   .inputs = inputs,
                   .gradients = {0},
                   .max_differences = 12});
  // The reference takes differences of every element: keep it small.
  if (prediction.num_elements() > 60) return;
  const Shape gradient = attrs.reduction == ReductionType::None
                             ? losses_of(attrs.type, prediction)
                             : Shape{1};
  inputs.insert(inputs.begin(), {gradient});
  cases.push_back({.op = OpKind::LossGradient,
                   .attrs = attrs,
                   .inputs = inputs,
                   .tolerance = 4 * kTolerance,
                   .reason = "a gradient, as elsewhere"});
}

std::vector<LossAttrs> options_of(LossType type, ReductionType reduction) {
  const LossAttrs plain{.type = type, .reduction = reduction};
  LossAttrs scaled = plain;
  scaled.weight = -1.5f;
  scaled.label_smoothing = 0.2f;
  scaled = without_unused(scaled);
  LossAttrs classes = scaled;
  classes.class_count = 7;
  switch (type) {
    case LossType::SoftmaxCrossEntropy:
    case LossType::CategoricalCrossEntropy:
      return {plain, scaled, classes};
    case LossType::Huber:
      classes = plain;
      classes.delta = 0.3f;
      scaled.delta = 2;
      return {plain, scaled, classes};
    case LossType::Log:
      scaled.epsilon = 0.1f;
      return {plain, scaled};
    default:
      return {plain, scaled};
  }
}

std::vector<Shape> weights_of(LossType type, const Shape& prediction) {
  const std::int64_t n = prediction[0];
  Shape column = Shape::filled(prediction.rank(), 1);
  column[0] = n;
  const Shape losses = losses_of(type, prediction);
  std::vector<Shape> weights{{1}, losses};
  if (prediction.rank() > 1) weights.push_back(column);
  if (type == LossType::CosineDistance) weights.push_back({n});
  return weights;
}

}  // namespace

void add_loss_cases(OpCases& cases, Random& random) {
  for (int i = 0; i <= static_cast<int>(LossType::KullbackLeiblerDivergence);
       ++i) {
    const auto type = static_cast<LossType>(i);
    const bool has_samples =
        sums_over_classes(type) || type == LossType::CosineDistance;
    for (auto reduction :
         {ReductionType::None, ReductionType::Sum, ReductionType::Mean}) {
      for (const LossAttrs& attrs : options_of(type, reduction)) {
        for (const Shape& shape :
             {Shape{3, 5}, Shape{1, 1}, Shape{2, 3, 7}, Shape{3, 4, 2, 2}}) {
          add(cases, attrs, shape);
          for (const Shape& weights : weights_of(type, shape)) {
            add(cases, attrs, shape, weights);
          }
        }
        if (!has_samples) add(cases, attrs, {7});
      }
      const LossAttrs plain{.type = type, .reduction = reduction};
      add(cases, plain, {257, 10});
      add(cases, plain, {2, 3, 70});  // more columns than one block
      add(cases, plain, random_shape(random, has_samples ? 3 : 5, 4));
    }
    add(cases, {.type = type}, {64, 3, 11, 13});
  }
}

}  // namespace traingraph::testing
