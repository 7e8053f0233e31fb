// SPDX-License-Identifier: MIT
// Losses and their gradients, composed: MPSGraph's own cross entropy knows
// neither weights nor smoothing. The losses keep the axes that they sum over,
// with size 1, until the result (loss_view.h).
#import "metal/graph_builder.h"
#include "metal/ops/loss_view.h"
#include "ops/loss_shapes.h"
#include "ops/shape_rules.h"

namespace traingraph::metal {
namespace {

using enum LossType;

/// Prediction y and smoothed labels t.
struct Sample {
  T y, t;
  LossAttrs attrs;
  Shape shape;   // of both
  Shape axes;    // that one loss sums over
  Shape losses;  // their shape
};

T smoothed(GraphBuilder& b, const LossAttrs& attrs, T t, double num_classes) {
  const double s = attrs.label_smoothing;
  return s == 0 ? t : b.add(b.mul(t, 1 - s), s / num_classes);
}

/// `first` is the input that holds the prediction.
Sample read_sample(GraphBuilder& b, int first) {
  const auto& attrs = b.attrs<LossAttrs>();
  const Shape& shape = b.input_shape(first);
  T t = b.input(first + 1);
  if (attrs.type == SigmoidCrossEntropy) t = smoothed(b, attrs, t, 2);
  if (sums_over_classes(attrs.type)) {
    const std::int64_t count =
        attrs.class_count > 1 ? attrs.class_count : shape[1];
    t = smoothed(b, attrs, t, static_cast<double>(count));
  }
  return {.y = b.input(first),
          .t = t,
          .attrs = attrs,
          .shape = shape,
          .axes = loss_axes(attrs.type, shape),
          .losses = kept_loss_shape(attrs.type, shape)};
}

T sum(GraphBuilder& b, const Sample& sample, T x) {
  return b.sum(x, sample.shape, sample.axes);
}

/// The prediction relative to its largest class, whose e^x cannot overflow.
T shifted(GraphBuilder& b, const Sample& sample) {
  return b.sub(sample.y, b.maximum(sample.y, sample.shape, sample.axes));
}

/// -sum of t * log_y. A class without label adds nothing, even at -inf.
T cross_entropy(GraphBuilder& b, const Sample& sample, T log_y) {
  T is_absent = b.equal(sample.t, 0.0);
  T terms = b.select(is_absent, 0.0, b.mul(sample.t, log_y));
  return b.neg(sum(b, sample, terms));
}

/// The sides of the log loss, 0 where a side has no label: its logarithm may be
/// infinite there.
T log_sides(GraphBuilder& b, const Sample& sample, T hit, T miss) {
  T t = sample.t;
  return b.add(b.select(b.equal(t, 0.0), 0.0, hit),
               b.select(b.equal(t, 1.0), 0.0, miss));
}

/// 1 or -1 for the labels 1 and 0.
T label_sign(GraphBuilder& b, T t) { return b.add(b.mul(t, 2.0), -1.0); }

T hinge_margin(GraphBuilder& b, const Sample& sample) {
  return b.sub(1.0, b.mul(label_sign(b, sample.t), sample.y));
}

T huber(GraphBuilder& b, T error, double delta) {
  T size = b.abs(error);
  T square = b.mul(b.square(size), 0.5);
  T line = b.mul(b.add(size, -0.5 * delta), delta);
  return b.select(b.greater(size, delta), line, square);
}

T element_losses(GraphBuilder& b, const Sample& sample) {
  T y = sample.y, t = sample.t;
  switch (sample.attrs.type) {
    case MeanAbsoluteError:
      return b.abs(b.sub(y, t));
    case MeanSquaredError:
      return b.square(b.sub(y, t));
    case SoftmaxCrossEntropy: {
      T x = shifted(b, sample);
      T log_sum = b.log(sum(b, sample, b.exp(x)));
      return cross_entropy(b, sample, b.sub(x, log_sum));
    }
    case SigmoidCrossEntropy:
      return b.sub(b.softplus(y), b.mul(y, t));
    case CategoricalCrossEntropy:
      return cross_entropy(b, sample, b.log(y));
    case Hinge:
      return b.max(hinge_margin(b, sample), 0.0);
    case Huber:
      return huber(b, b.sub(y, t), sample.attrs.delta);
    case CosineDistance:
      return b.sub(1.0, sum(b, sample, b.mul(y, t)));
    case Log: {
      const double epsilon = sample.attrs.epsilon;
      T hit = b.mul(t, b.log(b.add(y, epsilon)));
      T miss = b.mul(b.sub(1.0, t), b.log(b.add(b.sub(1.0, y), epsilon)));
      return b.neg(log_sides(b, sample, hit, miss));
    }
  }
  return nil;
}

/// Derivatives of the element losses by the prediction.
T slopes(GraphBuilder& b, const Sample& sample) {
  T y = sample.y, t = sample.t;
  switch (sample.attrs.type) {
    case MeanAbsoluteError:
      return b.sign(b.sub(y, t));
    case MeanSquaredError:
      return b.mul(b.sub(y, t), 2.0);
    case SoftmaxCrossEntropy: {
      T e = b.exp(shifted(b, sample));
      T share = b.div(sum(b, sample, t), sum(b, sample, e));
      return b.sub(b.mul(e, share), t);
    }
    case SigmoidCrossEntropy:
      return b.sub(b.sigmoid(y), t);
    case CategoricalCrossEntropy:
      return b.select(b.equal(t, 0.0), 0.0, b.neg(b.div(t, y)));
    case Hinge:
      return b.select(b.greater(hinge_margin(b, sample), 0.0),
                      b.neg(label_sign(b, t)), 0.0);
    case Huber: {
      const double delta = sample.attrs.delta;
      return b.max(b.min(b.sub(y, t), delta), -delta);
    }
    case CosineDistance:
      return b.neg(t);
    case Log: {
      const double epsilon = sample.attrs.epsilon;
      T hit = b.neg(b.div(t, b.add(y, epsilon)));
      T miss = b.div(b.sub(1.0, t), b.add(b.sub(1.0, y), epsilon));
      return log_sides(b, sample, hit, miss);
    }
  }
  return nil;
}

bool is_reduced(const Sample& sample) {
  return sample.attrs.reduction != ReductionType::None;
}

/// The weight of the loss over the divisor of the mean.
double scale_of(const Sample& sample) {
  const bool is_mean = sample.attrs.reduction == ReductionType::Mean;
  const std::int64_t divisor = is_mean ? sample.losses.num_elements() : 1;
  return sample.attrs.weight / static_cast<double>(divisor);
}

T weighted(GraphBuilder& b, const Sample& sample, T x, int weights) {
  if (!b.has(weights)) return x;
  const Shape shape = kept_weights_shape(sample.attrs.type, sample.shape,
                                         b.input_shape(weights));
  return b.mul(x, b.reshape(b.input(weights), shape));
}

}  // namespace

void lower_loss(GraphBuilder& b) {
  enum { kPrediction, kLabels, kWeights };
  const Sample sample = read_sample(b, kPrediction);
  const Shape& shape = sample.losses;
  T losses = weighted(b, sample, element_losses(b, sample), kWeights);
  if (is_reduced(sample)) {
    losses = b.sum(losses, shape, resolve_axes({}, shape.rank()));
  }
  b.set(b.reshape(b.mul(losses, scale_of(sample)), b.result_shape()));
}

void lower_loss_gradient(GraphBuilder& b) {
  enum { kGradient, kPrediction, kLabels, kWeights };
  const Sample sample = read_sample(b, kPrediction);
  T gradient = b.mul(b.input(kGradient), scale_of(sample));
  if (!is_reduced(sample)) gradient = b.reshape(gradient, sample.losses);
  b.set(b.mul(slopes(b, sample), weighted(b, sample, gradient, kWeights)));
}

}  // namespace traingraph::metal
