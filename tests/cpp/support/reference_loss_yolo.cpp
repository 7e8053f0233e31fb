// SPDX-License-Identifier: MIT
// Reference of the YOLO loss: who is responsible, then the sum of the parts.
// The gradient keeps what the prediction was assigned.
#include <cmath>

#include "support/reference_families.h"

namespace traingraph::testing {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct Box {
  double left, right, top, bottom;
  double area() const {
    return std::fmax(right - left, 0) * std::fmax(bottom - top, 0);
  }
};

Box box(double x, double y, double width, double height) {
  return {x - width / 2, x + width / 2, y - height / 2, y + height / 2};
}

double overlap_ratio(const Box& p, const Box& q) {
  const Box common{std::fmax(p.left, q.left), std::fmin(p.right, q.right),
                   std::fmax(p.top, q.top), std::fmin(p.bottom, q.bottom)};
  const double area = common.area();
  return area / (p.area() + q.area() - area);
}

struct Yolo {
  const YoloLossAttrs& attrs;
  const RefTensor &labels, &anchors;
  std::int64_t width;  // of an anchor's channels

  Yolo(const YoloLossAttrs& attrs, const Shape& prediction,
       const RefTensor& labels, const RefTensor& anchors)
      : attrs(attrs),
        labels(labels),
        anchors(anchors),
        width(prediction[1] / anchors.shape[0]) {}

  double iou(const RefTensor& y, std::int64_t a, const Shape& cell) const {
    const auto p = [&](std::int64_t c) { return at(y, a, c, cell); };
    const auto t = [&](std::int64_t c) { return at(labels, a, c, cell); };
    const double w = anchors({a, 0}), h = anchors({a, 1});
    return overlap_ratio(
        box(sigmoid(p(0)), sigmoid(p(1)), w * std::exp(p(2)),
            h * std::exp(p(3))),
        box(t(0), t(1), w * std::exp(t(2)), h * std::exp(t(3))));
  }

  double at(const RefTensor& x, std::int64_t a, std::int64_t channel,
            const Shape& cell) const {
    return x({cell[0], a * width + channel, cell[1], cell[2]});
  }

  bool has_object(std::int64_t a, const Shape& cell) const {
    return at(labels, a, 4, cell) > 0.5;
  }

  bool is_best(const RefTensor& y, std::int64_t a, const Shape& cell) const {
    for (std::int64_t other = 0; other < anchors.shape[0]; ++other) {
      if (other == a || !has_object(other, cell)) continue;
      const double own = iou(y, a, cell), rival = iou(y, other, cell);
      if (rival > own || (rival == own && other < a)) return false;
    }
    return true;
  }

  double cross_entropy(double x, double target) const {
    return -target * std::log(sigmoid(x)) -
           (1 - target) * std::log(sigmoid(-x));
  }

  double huber(double e) const {
    return std::abs(e) <= 1 ? e * e / 2 : std::abs(e) - 0.5;
  }

  /// The loss of one anchor of one cell; `fixed` decides who is responsible.
  double loss(const RefTensor& y, const RefTensor& fixed, std::int64_t a,
              const Shape& cell) const {
    const auto p = [&](std::int64_t c) { return at(y, a, c, cell); };
    const auto t = [&](std::int64_t c) { return at(labels, a, c, cell); };
    const double absent =
        attrs.scale_no_object_confidence_loss * cross_entropy(p(4), 0);
    if (!has_object(a, cell)) return absent;
    const double ratio = iou(fixed, a, cell);
    if (!is_best(fixed, a, cell) &&
        ratio < attrs.minimum_iou_for_object_presence) {
      return ratio < attrs.maximum_iou_for_object_absence ? absent : 0;
    }
    double exponentials = 0, entropy = 0;
    for (std::int64_t c = 5; c < width; ++c) exponentials += std::exp(p(c));
    for (std::int64_t c = 5; c < width; ++c) {
      entropy -= t(c) * (p(c) - std::log(exponentials));
    }
    return attrs.scale_spatial_position_loss *
               (std::pow(sigmoid(p(0)) - t(0), 2) +
                std::pow(sigmoid(p(1)) - t(1), 2)) +
           attrs.scale_spatial_size_loss *
               (huber(p(2) - t(2)) + huber(p(3) - t(3))) +
           attrs.scale_object_confidence_loss *
               cross_entropy(p(4), attrs.should_rescore ? ratio : 1) +
           attrs.scale_class_loss * entropy;
  }

  RefTensor losses(const RefTensor& y, const RefTensor& fixed) const {
    RefTensor sums = zeros({y.shape[0]});
    for_each_position({y.shape[0], y.shape[2], y.shape[3]},
                      [&](const Shape& cell) {
                        for (std::int64_t a = 0; a < anchors.shape[0]; ++a) {
                          sums({cell[0]}) += loss(y, fixed, a, cell);
                        }
                      });
    return sums;
  }
};

}  // namespace

RefTensors reference_yolo_loss(const YoloLossAttrs& attrs, RefTensors& in) {
  const Yolo yolo(attrs, in[0].shape, in[1], in[2]);
  return {yolo.losses(in[0], in[0])};
}

RefTensors reference_yolo_loss_gradient(const YoloLossAttrs& attrs,
                                        RefTensors& in) {
  const RefTensor& seed = in[0];
  const RefTensor fixed = in[1];
  const Yolo yolo(attrs, fixed.shape, in[2], in[3]);
  RefTensor gradient = zeros(fixed.shape);
  const auto weighted_loss = [&](const RefTensor& y) {
    const RefTensor losses = yolo.losses(y, fixed);
    double sum = 0;
    for (std::size_t n = 0; n < losses.data.size(); ++n) {
      sum += seed.data[n] * losses.data[n];
    }
    return sum;
  };
  RefTensor moved = fixed;
  for (std::size_t i = 0; i < moved.data.size(); ++i) {
    const double step = difference_step(fixed.data[i]);
    moved.data[i] = fixed.data[i] + step;
    const double above = weighted_loss(moved);
    moved.data[i] = fixed.data[i] - step;
    gradient.data[i] = (above - weighted_loss(moved)) / (2 * step);
    moved.data[i] = fixed.data[i];
  }
  return {gradient};
}

}  // namespace traingraph::testing
