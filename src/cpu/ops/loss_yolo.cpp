// SPDX-License-Identifier: MIT
// The YOLO loss and its gradient (yolo_loss.h of the public headers): one pass
// over the cells, whose anchors are visited twice, first to find out which are
// responsible. Boxes and sums are in double, so that devices agree on who is
// responsible but for ties of float32.
#include <algorithm>
#include <cmath>

#include "cpu/float_types.h"
#include "cpu/lowering.h"
#include "cpu/parallel.h"
#include "cpu/typed_address.h"
#include "formulas/yolo.h"

namespace traingraph::cpu {
namespace {

using namespace formulas::yolo;

/// One anchor of one cell: channel c is at c * stride.
template <class T>
struct Anchor {
  const T* y;
  const float* t;
  std::int64_t stride;
  const float* size;  // width and height

  double prediction(int channel) const { return y[channel * stride]; }
  double label(int channel) const { return t[channel * stride]; }
  double width() const { return size[0]; }
  double height() const { return size[1]; }
};

template <class T>
struct YoloLoss {
  YoloLossAttrs attrs;
  std::int64_t samples, anchors, channels, cells;  // channels of an anchor
  const T* prediction = nullptr;
  const float* labels = nullptr;
  const float* sizes = nullptr;
  float* result = nullptr;          // of the forward
  const float* gradient = nullptr;  // of the gradient
  T* dx = nullptr;

  std::int64_t offset(std::int64_t n, std::int64_t a, std::int64_t cell) const {
    return (n * anchors + a) * channels * cells + cell;
  }
  Anchor<T> anchor(std::int64_t n, std::int64_t a, std::int64_t cell) const {
    const std::int64_t at = offset(n, a, cell);
    return {prediction + at, labels + at, cells, sizes + 2 * a};
  }

  /// The anchor with the largest overlap; -1: no object.
  std::int64_t best_anchor(std::int64_t n, std::int64_t cell) const {
    std::int64_t best = -1;
    double largest = -1;
    for (std::int64_t a = 0; a < anchors; ++a) {
      const Anchor<T> each = anchor(n, a, cell);
      if (!has_object(each)) continue;
      const double iou = intersection_over_union(each);
      if (best >= 0 && !(iou > largest)) continue;
      best = a;
      largest = iou;
    }
    return best;
  }

  Options options() const {
    return {attrs.minimum_iou_for_object_presence,
            attrs.maximum_iou_for_object_absence, attrs.should_rescore};
  }

  /// Calls visit(anchor, assignment, offset) for all anchors of a sample.
  template <class Visit>
  void for_each_anchor(std::int64_t n, Visit&& visit) const {
    for (std::int64_t cell = 0; cell < cells; ++cell) {
      const std::int64_t best = best_anchor(n, cell);
      for (std::int64_t a = 0; a < anchors; ++a) {
        const Anchor<T> each = anchor(n, a, cell);
        visit(each, assign(options(), each, a == best), offset(n, a, cell));
      }
    }
  }

  double log_sum(const Anchor<T>& each, double& largest) const {
    largest = each.prediction(kClasses);
    for (std::int64_t c = kClasses; c < channels; ++c) {
      largest = std::max(largest, each.prediction(static_cast<int>(c)));
    }
    double sum = 0;
    for (std::int64_t c = kClasses; c < channels; ++c) {
      sum += std::exp(each.prediction(static_cast<int>(c)) - largest);
    }
    return std::log(sum);
  }

  double object_loss(const Anchor<T>& each, double target) const {
    const double x = sigmoid(each.prediction(kX)) - each.label(kX);
    const double y = sigmoid(each.prediction(kY)) - each.label(kY);
    double largest;
    const double log_of_sum = log_sum(each, largest);
    double entropy = 0;
    for (std::int64_t i = kClasses; i < channels; ++i) {
      const int c = static_cast<int>(i);
      if (each.label(c) == 0) continue;
      entropy -= each.label(c) * (each.prediction(c) - largest - log_of_sum);
    }
    return attrs.scale_spatial_position_loss * (x * x + y * y) +
           attrs.scale_spatial_size_loss *
               (huber(each.prediction(kWidth) - each.label(kWidth)) +
                huber(each.prediction(kHeight) - each.label(kHeight))) +
           attrs.scale_object_confidence_loss *
               binary_cross_entropy(each.prediction(kConfidence), target) +
           attrs.scale_class_loss * entropy;
  }

  void object_slopes(const Anchor<T>& each, double target, double scale,
                     T* d) const {
    const auto set = [&](std::int64_t c, double slope) {
      d[c * cells] = static_cast<float>(scale * slope);
    };
    for (const int c : {kX, kY}) {
      set(c, centre_slope(each.prediction(c), each.label(c),
                          attrs.scale_spatial_position_loss));
    }
    for (const int c : {kWidth, kHeight}) {
      const double error = each.prediction(c) - each.label(c);
      set(c, attrs.scale_spatial_size_loss * huber_slope(error));
    }
    set(kConfidence, attrs.scale_object_confidence_loss *
                         (sigmoid(each.prediction(kConfidence)) - target));
    double largest, sum = 0;
    const double log_of_sum = log_sum(each, largest);
    for (std::int64_t c = kClasses; c < channels; ++c) {
      sum += each.label(static_cast<int>(c));
    }
    for (std::int64_t i = kClasses; i < channels; ++i) {
      const int c = static_cast<int>(i);
      const double share =
          std::exp(each.prediction(c) - largest - log_of_sum) * sum;
      set(c, attrs.scale_class_loss * (share - each.label(c)));
    }
  }

  void loss() const {
    for_each_sample([&](std::int64_t n) {
      double sum = 0;
      for_each_anchor(
          n, [&](const Anchor<T>& each, const Assignment& found, std::int64_t) {
            if (found.is_responsible) sum += object_loss(each, found.target);
            if (!found.is_absent) return;
            sum += attrs.scale_no_object_confidence_loss *
                   binary_cross_entropy(each.prediction(kConfidence), 0);
          });
      result[n] = static_cast<float>(sum);
    });
  }

  void slopes() const {
    for_each_sample([&](std::int64_t n) {
      const double scale = gradient[n];
      for_each_anchor(n, [&](const Anchor<T>& each, const Assignment& found,
                             std::int64_t at) {
        if (found.is_responsible) {
          return object_slopes(each, found.target, scale, dx + at);
        }
        for (std::int64_t c = 0; c < channels; ++c) dx[at + c * cells] = 0.0f;
        if (!found.is_absent) return;
        dx[at + kConfidence * cells] =
            static_cast<float>(scale * attrs.scale_no_object_confidence_loss *
                               sigmoid(each.prediction(kConfidence)));
      });
    });
  }

  /// A sample is added up by one thread, in order.
  template <class Visit>
  void for_each_sample(Visit&& visit) const {
    parallel_for(
        samples, /*grain=*/1,
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t n = begin; n < end; ++n) visit(n);
        },
        /*multiple=*/1);
  }
};

/// Inputs from `first`: prediction, labels, anchors.
template <class T>
YoloLoss<T> plan_of(const UnitBuilder& unit, int first) {
  const Shape& shape = unit.input_shape(first);
  const std::int64_t anchors = unit.input_shape(first + 2)[0];
  return {.attrs = unit.attrs<YoloLossAttrs>(),
          .samples = shape[0],
          .anchors = anchors,
          .channels = shape[1] / anchors,
          .cells = shape[2] * shape[3]};
}

}  // namespace

void lower_yolo_loss(UnitBuilder& unit) {
  const int prediction = unit.read(0), labels = unit.read(1);
  const int sizes = unit.read(2), result = unit.write(0);
  const DataType type = unit.input_desc(0).data_type;
  visit_floats<row::yolo_loss>(unit, type, [&]<class T>(T) {
    const YoloLoss<T> plan = plan_of<T>(unit, 0);
    emit(unit, [=](BindContext& at) -> BoundKernel {
      YoloLoss<T> bound = plan;
      bound.prediction = typed<T>(at[prediction]);
      bound.labels = floats(at[labels]);
      bound.sizes = floats(at[sizes]);
      bound.result = floats(at[result]);
      return [bound] { bound.loss(); };
    });
  });
}

void lower_yolo_loss_gradient(UnitBuilder& unit) {
  const int gradient = unit.read(0), prediction = unit.read(1);
  const int labels = unit.read(2), sizes = unit.read(3);
  const int dx = unit.write(0);
  const DataType type = unit.input_desc(1).data_type;
  visit_floats<row::yolo_loss_gradient>(unit, type, [&]<class T>(T) {
    const YoloLoss<T> plan = plan_of<T>(unit, 1);
    emit(unit, [=](BindContext& at) -> BoundKernel {
      YoloLoss<T> bound = plan;
      bound.prediction = typed<T>(at[prediction]);
      bound.labels = floats(at[labels]);
      bound.sizes = floats(at[sizes]);
      bound.gradient = floats(at[gradient]);
      bound.dx = typed<T>(at[dx]);
      return [bound] { bound.slopes(); };
    });
  });
}

}  // namespace traingraph::cpu
