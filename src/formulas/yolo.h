// SPDX-License-Identifier: MIT
// One anchor of the YOLO loss (yolo_loss.h of the public headers). Boxes are in
// double, so that devices agree on which anchor is responsible but for ties of
// float32. An Anchor gives prediction(channel), label(channel) in the order of
// Channel, width() and height().
#pragma once

#include "formulas/portable.h"

namespace traingraph {
namespace formulas {
namespace yolo {

/// Channels are in this order; the classes are last, however many there are.
enum Channel { kX, kY, kWidth, kHeight, kConfidence, kClasses };

#if !defined(__METAL_VERSION__)  // it has no double
inline double sigmoid(double x) {
  const double e = exp(-fabs(x));  // never overflows
  return (x >= 0 ? 1 : e) / (1 + e);
}

/// Cross-entropy of sigmoid(x).
inline double binary_cross_entropy(double x, double target) {
  return maximum(x, 0.0) - x * target + log1p(exp(-fabs(x)));
}

inline double huber(double error) {
  const double size = fabs(error);
  return size <= 1 ? 0.5 * size * size : size - 0.5;
}

/// The common part of two intervals by centre and length.
inline double overlap(double x, double width, double other_x,
                      double other_width) {
  const double low = maximum(x - width / 2, other_x - other_width / 2);
  const double high = minimum(x + width / 2, other_x + other_width / 2);
  return maximum(high - low, 0.0);
}

template <class Anchor>
bool has_object(Anchor anchor) {
  return anchor.label(kConfidence) > 0.5;
}

/// Of the prediction's box and the label's.
template <class Anchor>
double intersection_over_union(Anchor anchor) {
  const double width = anchor.width() * exp(anchor.prediction(kWidth));
  const double height = anchor.height() * exp(anchor.prediction(kHeight));
  const double true_width = anchor.width() * exp(anchor.label(kWidth));
  const double true_height = anchor.height() * exp(anchor.label(kHeight));
  const double common = overlap(sigmoid(anchor.prediction(kX)), width,
                                anchor.label(kX), true_width) *
                        overlap(sigmoid(anchor.prediction(kY)), height,
                                anchor.label(kY), true_height);
  return common / (width * height + true_width * true_height - common);
}

struct Options {
  float minimum_iou_for_object_presence, maximum_iou_for_object_absence;
  bool should_rescore;
};

/// What an anchor's prediction is compared with.
struct Assignment {
  bool is_responsible, is_absent;
  double target;  // of the confidence
};

/// is_best: no anchor of the cell overlaps its label more.
template <class Anchor>
Assignment assign(Options options, Anchor anchor, bool is_best) {
  if (!has_object(anchor)) return {false, true, 0};
  const double iou = intersection_over_union(anchor);
  const bool is_responsible =
      is_best || iou >= options.minimum_iou_for_object_presence;
  const bool is_far = iou < options.maximum_iou_for_object_absence;
  const double target = options.should_rescore ? iou : 1;
  return {is_responsible, !is_responsible && is_far,
          is_responsible ? target : 0};
}

/// The derivative of scale * (sigmoid(x) - label)^2.
inline double centre_slope(double x, double label, float scale) {
  const double s = sigmoid(x);
  return scale * 2 * (s - label) * s * sigmoid(-x);
}

inline double huber_slope(double error) {
  return error < -1 ? -1.0 : error > 1 ? 1.0 : error;
}
#endif

}  // namespace yolo
}  // namespace formulas
}  // namespace traingraph
