// SPDX-License-Identifier: MIT
// Losses and their gradients, composed: MPSGraph's own cross entropy knows
// neither weights nor smoothing. The losses keep the axes that they sum over,
// with size 1, until the result (loss_view.h).
#import "metal/ops/gather_indices.h"
#include "metal/ops/loss_view.h"
#include "ops/loss_shapes.h"
#include "ops/shape_rules.h"

namespace traingraph::metal {
namespace {

using enum LossType;

/// Prediction y and smoothed labels t, times the weights of their classes.
struct Sample {
  T y, t;
  T divisor = nil;  // of the mean over named classes; else a constant
  LossAttrs attrs;
  Shape shape;   // of both
  Shape axes;    // that one loss sums over
  Shape losses;  // their shape
};

T smoothed(GraphBuilder& b, const LossAttrs& attrs, T t, double num_classes) {
  const double s = attrs.label_smoothing;
  return s == 0 ? t : b.add(b.mul(t, 1 - s), s / num_classes);
}

T sum(GraphBuilder& b, const Sample& sample, T x) {
  return b.sum(x, sample.shape, sample.axes);
}

/// Labels with a share of each class, or of single elements.
T shared_labels(GraphBuilder& b, const Sample& sample, int input) {
  const Shape view =
      loss_labels_shape(sample.attrs.type, sample.shape, b.input_shape(input),
                        /*are_indices=*/false)
          .value();
  T t = b.reshape(b.input(input), view);
  return view == sample.shape ? t : b.broadcast(t, sample.shape);
}

/// (C) as (1, C, 1, ...).
T class_weights(GraphBuilder& b, const Sample& sample, int input) {
  Shape shape = Shape::filled(sample.shape.rank(), 1);
  shape[1] = sample.shape[1];
  return b.reshape(b.input(input), shape);
}

/// Labels that are indices of classes, as shares: 1 for the class that is
/// named. Where a graph computes another index than the host may give, NaN.
void read_named_labels(GraphBuilder& b, Sample& sample, int labels,
                       double num_classes) {
  const int weights = labels + 2;
  const Positions p = positions(b, labels, sample.losses, sample.shape[1]);
  T given = b.reshape(b.input(labels), sample.losses);
  T is_ignored = b.equal(given, static_cast<double>(sample.attrs.ignore_index));
  T classes = [b.graph() coordinateAlongAxis:1
                                   withShape:ns_shape(sample.shape)
                                        name:b.name()];
  T named = b.select(b.equal(classes, p.at), 1.0, 0.0, DataType::Float32);
  T t = smoothed(b, sample.attrs, named, num_classes);
  if (b.has(weights)) {
    T of_classes = class_weights(b, sample, weights);
    named = b.mul(named, of_classes);
    t = b.mul(t, of_classes);
  }
  sample.t = b.select(is_ignored, 0.0, nan_outside(b, t, p.is_inside));
  if (sample.attrs.reduction != ReductionType::Mean) return;
  T counted = b.select(is_ignored, 0.0, named);
  sample.divisor = b.reshape(
      b.sum(counted, sample.shape, resolve_axes({}, sample.shape.rank())), {1});
}

/// `first` is the input that holds the prediction.
Sample read_sample(GraphBuilder& b, int first) {
  const auto& attrs = b.attrs<LossAttrs>();
  const Shape& shape = b.input_shape(first);
  const int labels = first + 1, of_classes = first + 3;
  Sample sample{.y = b.input(first),
                .t = nil,
                .attrs = attrs,
                .shape = shape,
                .axes = loss_axes(attrs.type, shape),
                .losses = kept_loss_shape(attrs.type, shape)};
  const bool has_classes = sums_over_classes(attrs.type);
  const std::int64_t count =
      attrs.class_count > 1 || !has_classes ? attrs.class_count : shape[1];
  const auto num_classes = static_cast<double>(count);
  if (are_class_indices(attrs.type, b.input_desc(labels).data_type)) {
    read_named_labels(b, sample, labels, num_classes);
    return sample;
  }
  T t = shared_labels(b, sample, labels);
  if (attrs.type == SigmoidCrossEntropy) t = smoothed(b, attrs, t, 2);
  if (has_classes) t = smoothed(b, attrs, t, num_classes);
  if (b.has(of_classes)) t = b.mul(t, class_weights(b, sample, of_classes));
  sample.t = t;
  return sample;
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
    case KullbackLeiblerDivergence:
      return b.select(b.equal(t, 0.0), 0.0, b.mul(t, b.sub(b.log(t), y)));
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
    case KullbackLeiblerDivergence:
      return b.neg(t);
  }
  return nil;
}

bool is_reduced(const Sample& sample) {
  return sample.attrs.reduction != ReductionType::None;
}

/// The weight of the loss over the divisor of the mean, if that is constant.
double scale_of(const Sample& sample) {
  const bool is_mean =
      sample.attrs.reduction == ReductionType::Mean && !sample.divisor;
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
  T result = b.reshape(b.mul(losses, scale_of(sample)), b.result_shape());
  b.set(sample.divisor ? b.div(result, sample.divisor) : result);
}

void lower_loss_gradient(GraphBuilder& b) {
  enum { kGradient, kPrediction, kLabels, kWeights };
  const Sample sample = read_sample(b, kPrediction);
  T gradient = b.mul(b.input(kGradient), scale_of(sample));
  if (!is_reduced(sample)) gradient = b.reshape(gradient, sample.losses);
  if (sample.divisor) {
    // Where nothing counts there is no gradient.
    gradient = b.select(b.equal(sample.divisor, 0.0), 0.0,
                        b.div(gradient, sample.divisor));
  }
  b.set(b.mul(slopes(b, sample), weighted(b, sample, gradient, kWeights)));
}

}  // namespace traingraph::metal
