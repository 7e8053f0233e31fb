// SPDX-License-Identifier: MIT
// Cases of the labels that losses take beside those of the prediction's shape:
// indices of classes, with weights of classes and some that are ignored, and
// labels that broadcast or lack axes of size 1.
#include "ops/cases.h"

namespace traingraph::testing {
namespace {

constexpr std::int64_t kIgnored = -100;

/// Indices of `classes`, of which about a fifth are `ignored`.
Domain names(std::int64_t classes, std::int64_t ignored) {
  return [=](const Shape& shape, const RefTensors&, Random& random) {
    RefTensor x = zeros(shape);
    for (double& each : x.data) {
      const bool counts = pick(random, 0, 4) != 0;
      each =
          static_cast<double>(counts ? pick(random, 0, classes - 1) : ignored);
    }
    // One counts, or the mean would be that of nothing.
    x.data[0] = ignored == 0 ? 1 : 0;
    return x;
  };
}

Domain prediction_of(LossType type) {
  return type == LossType::SoftmaxCrossEntropy ? uniform(-3, 3)
                                               : distribution();
}

Shape without_classes(const Shape& prediction) {
  Shape shape;
  for (int axis = 0; axis < prediction.rank(); ++axis) {
    if (axis != 1) shape.push_back(prediction[axis]);
  }
  return shape;
}

/// The loss and, for small ones, its gradient op.
void add(OpCases& cases, const LossAttrs& attrs,
         std::vector<CaseInput> inputs) {
  const Shape& prediction = inputs[0].shape;
  cases.push_back({.op = OpKind::Loss,
                   .attrs = attrs,
                   .inputs = inputs,
                   .gradients = {0},
                   .max_differences = 12});
  // The reference takes differences of every element.
  if (prediction.num_elements() > 60) return;
  Shape gradient{1};
  if (attrs.reduction == ReductionType::None) {
    const bool has_classes = attrs.type == LossType::SoftmaxCrossEntropy ||
                             attrs.type == LossType::CategoricalCrossEntropy;
    gradient = has_classes ? without_classes(prediction) : prediction;
  }
  inputs.insert(inputs.begin(), {gradient});
  cases.push_back({.op = OpKind::LossGradient,
                   .attrs = attrs,
                   .inputs = std::move(inputs),
                   .tolerance = 4 * kTolerance,
                   .reason = "a gradient, as elsewhere"});
}

/// Labels (N, H, W), with the class axis, and with others of size 1.
std::vector<Shape> shapes_of_names(const Shape& prediction) {
  const Shape plain = without_classes(prediction);
  Shape kept = prediction;
  kept[1] = 1;
  Shape longer = plain;
  longer.push_back(1);
  return {plain, kept, longer};
}

void add_names(OpCases& cases, LossType type, const Shape& shape) {
  const std::int64_t classes = shape[1];
  const CaseInput y{shape, prediction_of(type)};
  const CaseInput of_classes{{classes}, uniform(0.2, 2)};
  const Shape plain = without_classes(shape);
  for (auto reduction :
       {ReductionType::None, ReductionType::Sum, ReductionType::Mean}) {
    for (const DataType index : {DataType::Int32, DataType::Int64}) {
      LossAttrs attrs{.type = type, .reduction = reduction};
      const CaseInput t{plain, names(classes, kIgnored), index};
      add(cases, attrs, {y, t});
      add(cases, attrs, {y, t, absent(), of_classes});
      attrs.label_smoothing = 0.2f;
      attrs.weight = -1.5f;
      add(cases, attrs, {y, t});
      add(cases, attrs, {y, t, {plain, uniform(0.2, 2)}, of_classes});
      attrs.ignore_index = 0;
      add(cases, attrs,
          {y, {plain, names(classes, 0), index}, absent(), of_classes});
    }
  }
  for (const Shape& each : shapes_of_names(shape)) {
    add(cases, {.type = type},
        {y, {each, names(classes, kIgnored), DataType::Int32}});
  }
}

/// Shares of each class whose classes weigh something.
void add_shares(OpCases& cases, LossType type, const Shape& shape) {
  const CaseInput y{shape, prediction_of(type)}, t{shape, one_hot()};
  Shape list = Shape::filled(shape.rank(), 1);
  list[1] = shape[1];
  for (auto reduction : {ReductionType::None, ReductionType::Mean}) {
    for (const Shape& weights : {Shape{shape[1]}, list}) {
      add(cases,
          {.type = type, .reduction = reduction, .label_smoothing = 0.1f},
          {y, t, absent(), {weights, uniform(0.2, 2)}});
    }
  }
}

/// Labels of single elements that broadcast, or differ in axes of size 1.
void add_broadcast(OpCases& cases, Random& random) {
  for (LossType type :
       {LossType::MeanSquaredError, LossType::SigmoidCrossEntropy,
        LossType::MeanAbsoluteError, LossType::Huber}) {
    const Domain y = uniform(0.1, 0.9), t = uniform(-0.8, 0);
    for (auto reduction : {ReductionType::None, ReductionType::Mean}) {
      const LossAttrs attrs{.type = type, .reduction = reduction};
      for (const Shape& labels :
           {Shape{3, 1, 5}, Shape{1, 4, 1}, Shape{5}, Shape{1}, Shape{4, 1}}) {
        add(cases, attrs, {{{3, 4, 5}, y}, {labels, t}});
      }
      add(cases, attrs, {{{3, 4, 1, 1}, y}, {{3, 4}, t}});
      add(cases, attrs, {{{3, 4}, y}, {{3, 4, 1, 1}, t}});
      add(cases, attrs, {{{3, 1}, y}, {{3}, t}});
      Shape shape = random_shape(random, 4, 4);
      shape[0] += 4;  // larger than others: nothing is ambiguous
      add(cases, attrs, {{shape, y}, {random_broadcastable(random, shape), t}});
    }
  }
}

}  // namespace

void add_loss_label_cases(OpCases& cases, Random& random) {
  for (LossType type :
       {LossType::SoftmaxCrossEntropy, LossType::CategoricalCrossEntropy}) {
    for (const Shape& shape :
         {Shape{3, 5}, Shape{2, 3, 4}, Shape{3, 4, 2, 2}, Shape{2, 7, 1, 1}}) {
      add_names(cases, type, shape);
      add_shares(cases, type, shape);
    }
    const Shape large{64, 3, 11, 13}, table{257, 10};
    const Shape wide{5, 40}, widest{3, 1100};
    for (const Shape& shape : {large, table, wide, widest}) {
      add(cases, {.type = type},
          {{shape, prediction_of(type)},
           {without_classes(shape), names(shape[1], kIgnored),
            DataType::Int32}});
    }
    add(cases, {.type = type},
        {{{3, 4, 1, 1}, prediction_of(type)}, {{3, 4}, one_hot()}});
    add(cases, {.type = type},
        {{{3, 4}, prediction_of(type)}, {{3, 4, 1, 1}, one_hot()}});
  }
  add_broadcast(cases, random);
}

}  // namespace traingraph::testing
