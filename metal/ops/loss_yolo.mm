// SPDX-License-Identifier: MIT
// The YOLO loss and its gradient (yolo_loss.h of the public headers), composed.
// Everything is (N, A, channels, cells): one anchor and its channels per axis.
#include "formulas/yolo.h"
#import "metal/ops/layout_moves.h"
#include "ops/shape_rules.h"

namespace traingraph::metal {
namespace {

using enum formulas::yolo::Channel;
constexpr int kAnchors = 1, kChannels = 2;

/// One channel (N, A, 1, cells) of prediction and labels each, and the classes
/// (N, A, K, cells).
struct Detections {
  YoloLossAttrs attrs;
  Shape shape, one, classes;  // of all, a channel, the classes
  T y[kClasses], t[kClasses];
  T scores, shares;
  T widths, heights;  // of the anchors, (1, A, 1, 1)
};

T channels(GraphBuilder& b, T x, int first, std::int64_t count) {
  return slice_axis(b, x, kChannels, first, count);
}

/// `first` is the input that holds the prediction.
Detections read(GraphBuilder& b, int first) {
  const Shape& given = b.input_shape(first);
  const std::int64_t anchors = b.input_shape(first + 2)[0];
  Detections d;
  d.attrs = b.attrs<YoloLossAttrs>();
  d.shape = {given[0], anchors, given[1] / anchors, given[2] * given[3]};
  d.one = d.classes = d.shape;
  d.one[kChannels] = 1;
  d.classes[kChannels] -= kClasses;
  T prediction = b.reshape(b.input(first), d.shape);
  T labels = b.reshape(b.input(first + 1), d.shape);
  for (int c = 0; c < kClasses; ++c) {
    d.y[c] = channels(b, prediction, c, 1);
    d.t[c] = channels(b, labels, c, 1);
  }
  d.scores = channels(b, prediction, kClasses, d.classes[kChannels]);
  d.shares = channels(b, labels, kClasses, d.classes[kChannels]);
  T sizes = b.reshape(b.input(first + 2), {1, anchors, 2, 1});
  d.widths = channels(b, sizes, 0, 1);
  d.heights = channels(b, sizes, 1, 1);
  return d;
}

/// The common part of two intervals by centre and length.
T overlap(GraphBuilder& b, T x, T width, T other_x, T other_width) {
  T half = b.mul(width, 0.5), other_half = b.mul(other_width, 0.5);
  T low = b.max(b.sub(x, half), b.sub(other_x, other_half));
  T high = b.min(b.add(x, half), b.add(other_x, other_half));
  return b.max(b.sub(high, low), 0.0);
}

/// The overlap of the predictions' boxes with those of their labels.
T intersection_over_union(GraphBuilder& b, const Detections& d) {
  T width = b.mul(b.exp(d.y[kWidth]), d.widths);
  T height = b.mul(b.exp(d.y[kHeight]), d.heights);
  T true_width = b.mul(b.exp(d.t[kWidth]), d.widths);
  T true_height = b.mul(b.exp(d.t[kHeight]), d.heights);
  T common =
      b.mul(overlap(b, b.sigmoid(d.y[kX]), width, d.t[kX], true_width),
            overlap(b, b.sigmoid(d.y[kY]), height, d.t[kY], true_height));
  T areas = b.add(b.mul(width, height), b.mul(true_width, true_height));
  return b.div(common, b.sub(areas, common));
}

/// 1 or 0 for anchors that are responsible, or absent, and the target of the
/// responsible ones' confidence.
struct Assignment {
  T is_responsible, is_absent;  // Boolean
  T target;
};

Assignment assign(GraphBuilder& b, const Detections& d) {
  T has_object = b.greater(d.t[kConfidence], 0.5);
  T iou = intersection_over_union(b, d);
  // The first of the anchors with the largest overlap, by its number.
  T candidate = b.select(has_object, iou, -1.0);
  T largest = b.maximum(candidate, d.one, {kAnchors});
  T numbers = b.cast([b.graph() coordinateAlongAxis:kAnchors
                                          withShape:ns_shape(d.one)
                                               name:b.name()],
                     DataType::Float32);
  const auto none = static_cast<double>(d.shape[kAnchors]);
  T winners = b.select(b.equal(candidate, largest), numbers, none);
  T is_best = b.equal(numbers, b.minimum(winners, d.one, {kAnchors}));
  T overlaps = b.at_least(iou, d.attrs.minimum_iou_for_object_presence);
  T is_chosen = b.negate(b.both(b.negate(is_best), b.negate(overlaps)));
  Assignment found;
  found.is_responsible = b.both(has_object, is_chosen);
  T is_far = b.less(iou, d.attrs.maximum_iou_for_object_absence);
  T is_near = b.both(has_object, b.negate(is_far));
  found.is_absent = b.both(b.negate(found.is_responsible), b.negate(is_near));
  found.target = d.attrs.should_rescore ? iou : b.scalar(1, DataType::Float32);
  return found;
}

/// Cross-entropy of sigmoid(x).
T binary_cross_entropy(GraphBuilder& b, T x, T target) {
  return b.sub(b.softplus(x), b.mul(x, target));
}

T huber(GraphBuilder& b, T error) {
  T size = b.abs(error);
  return b.select(b.greater(size, 1.0), b.add(size, -0.5),
                  b.mul(b.square(size), 0.5));
}

T shifted_scores(GraphBuilder& b, const Detections& d) {
  return b.sub(d.scores, b.maximum(d.scores, d.classes, {kChannels}));
}

T class_entropy(GraphBuilder& b, const Detections& d) {
  T x = shifted_scores(b, d);
  T log_sum = b.log(b.sum(b.exp(x), d.classes, {kChannels}));
  T terms = b.mul(d.shares, b.sub(x, log_sum));
  terms = b.select(b.equal(d.shares, 0.0), 0.0, terms);
  return b.neg(b.sum(terms, d.classes, {kChannels}));
}

T object_losses(GraphBuilder& b, const Detections& d, T target) {
  T x = b.sub(b.sigmoid(d.y[kX]), d.t[kX]);
  T y = b.sub(b.sigmoid(d.y[kY]), d.t[kY]);
  T width = b.sub(d.y[kWidth], d.t[kWidth]);
  T height = b.sub(d.y[kHeight], d.t[kHeight]);
  T position = b.add(b.square(x), b.square(y));
  T size = b.add(huber(b, width), huber(b, height));
  T confidence = binary_cross_entropy(b, d.y[kConfidence], target);
  T sum = b.add(b.mul(position, d.attrs.scale_spatial_position_loss),
                b.mul(size, d.attrs.scale_spatial_size_loss));
  sum = b.add(sum, b.mul(confidence, d.attrs.scale_object_confidence_loss));
  return b.add(sum, b.mul(class_entropy(b, d), d.attrs.scale_class_loss));
}

T position_slope(GraphBuilder& b, const Detections& d, int channel) {
  T s = b.sigmoid(d.y[channel]);
  T slope = b.mul(s, b.sigmoid(b.neg(d.y[channel])));
  return b.mul(b.mul(b.sub(s, d.t[channel]), slope),
               2.0 * d.attrs.scale_spatial_position_loss);
}

T size_slope(GraphBuilder& b, const Detections& d, int channel) {
  T error = b.sub(d.y[channel], d.t[channel]);
  return b.mul(b.max(b.min(error, 1.0), -1.0), d.attrs.scale_spatial_size_loss);
}

T class_slopes(GraphBuilder& b, const Detections& d) {
  T e = b.exp(shifted_scores(b, d));
  T factor = b.div(b.sum(d.shares, d.classes, {kChannels}),
                   b.sum(e, d.classes, {kChannels}));
  return b.mul(b.sub(b.mul(e, factor), d.shares), d.attrs.scale_class_loss);
}

}  // namespace

void lower_yolo_loss(GraphBuilder& b) {
  const Detections d = read(b, 0);
  const Assignment found = assign(b, d);
  T zero = b.scalar(0, DataType::Float32);
  T absent = b.mul(binary_cross_entropy(b, d.y[kConfidence], zero),
                   d.attrs.scale_no_object_confidence_loss);
  T losses = b.add(
      b.select(found.is_responsible, object_losses(b, d, found.target), 0.0),
      b.select(found.is_absent, absent, 0.0));
  b.set(b.reshape(b.sum(losses, d.one, {1, 2, 3}), b.result_shape()));
}

void lower_yolo_loss_gradient(GraphBuilder& b) {
  const Detections d = read(b, 1);
  const Assignment found = assign(b, d);
  T s = b.sigmoid(d.y[kConfidence]);
  T confidence =
      b.mul(b.sub(s, found.target), d.attrs.scale_object_confidence_loss);
  T absent = b.mul(s, d.attrs.scale_no_object_confidence_loss);
  const auto where_responsible = [&](T slope) {
    return b.select(found.is_responsible, slope, 0.0);
  };
  NSArray<MPSGraphTensor*>* parts = @[
    where_responsible(position_slope(b, d, kX)),
    where_responsible(position_slope(b, d, kY)),
    where_responsible(size_slope(b, d, kWidth)),
    where_responsible(size_slope(b, d, kHeight)),
    b.add(where_responsible(confidence),
          b.select(found.is_absent, absent, 0.0)),
    where_responsible(class_slopes(b, d))
  ];
  T slopes = concatenate(b, parts, kChannels);
  T gradient = b.reshape(b.input(0), {d.shape[0], 1, 1, 1});
  b.set(b.reshape(b.mul(slopes, gradient), b.result_shape()));
}

}  // namespace traingraph::metal
