// SPDX-License-Identifier: MIT
// Losses of one element of the prediction and one label: formulas as value and
// slope (derivative by the prediction), and one pass over blocks.
#pragma once

#include <algorithm>
#include <cmath>

#include "cpu/ops/loss_args.h"
#include "cpu/parallel.h"
#include "cpu/vector_math.h"

namespace traingraph::cpu {
// Each formula is made from the attributes, then asked for y (prediction) and t
// (label).
struct MeanAbsoluteError {
  explicit MeanAbsoluteError(const LossAttrs&) {}
  float value(float y, float t) const { return std::fabs(y - t); }
  float slope(float y, float t) const {
    return static_cast<float>(y > t) - static_cast<float>(y < t);
  }
};

struct MeanSquaredError {
  explicit MeanSquaredError(const LossAttrs&) {}
  float value(float y, float t) const { return (y - t) * (y - t); }
  float slope(float y, float t) const { return 2 * (y - t); }
};

struct SigmoidCrossEntropy {
  explicit SigmoidCrossEntropy(const LossAttrs& attrs)
      : keep(1 - attrs.label_smoothing), add(attrs.label_smoothing / 2) {}
  float value(float y, float t) const {
    const float smooth = t * keep + add;
    const float rest = fast_log1p_unit(fast_exp(-std::fabs(y)));
    return (y > 0 ? y : 0) - y * smooth + rest;
  }
  float slope(float y, float t) const {
    const float e = fast_exp(-std::fabs(y));  // never overflows
    return (y >= 0 ? 1 : e) / (1 + e) - (t * keep + add);
  }
  float keep, add;
};

struct Hinge {
  explicit Hinge(const LossAttrs&) {}
  float value(float y, float t) const {
    const float margin = 1 - (2 * t - 1) * y;
    return margin < 0 ? 0 : margin;
  }
  float slope(float y, float t) const {
    const float sign = 2 * t - 1;
    return 1 - sign * y > 0 ? -sign : 0;
  }
};

struct Huber {
  explicit Huber(const LossAttrs& attrs) : delta(attrs.delta) {}
  float value(float y, float t) const {
    const float a = std::fabs(y - t);
    return a <= delta ? 0.5f * a * a : delta * (a - 0.5f * delta);
  }
  float slope(float y, float t) const {
    const float d = y - t;
    return d > delta ? delta : d < -delta ? -delta : d;
  }
  float delta;
};

/// A side without label adds nothing, even where its logarithm is infinite.
struct Log {
  explicit Log(const LossAttrs& attrs) : epsilon(attrs.epsilon) {}
  float value(float y, float t) const {
    const float hit = t * std::log(y + epsilon);
    const float miss = (1 - t) * std::log1p(epsilon - y);
    return -(t == 0 ? 0 : hit) - (t == 1 ? 0 : miss);
  }
  float slope(float y, float t) const {
    const float hit = t / (y + epsilon);
    const float miss = (1 - t) / (1 - y + epsilon);
    return (t == 1 ? 0 : miss) - (t == 0 ? 0 : hit);
  }
  float epsilon;
};

/// What has no share of the labels adds nothing.
struct KullbackLeiblerDivergence {
  explicit KullbackLeiblerDivergence(const LossAttrs&) {}
  float value(float y, float t) const {
    return t == 0 ? 0 : t * (std::log(t) - y);
  }
  float slope(float, float t) const { return -t; }
};

/// Calls f with the formula of an element-wise loss.
template <class F>
void with_formula(const LossAttrs& attrs, F&& f) {
  switch (attrs.type) {
    case LossType::MeanAbsoluteError:
      return f(MeanAbsoluteError(attrs));
    case LossType::MeanSquaredError:
      return f(MeanSquaredError(attrs));
    case LossType::SigmoidCrossEntropy:
      return f(SigmoidCrossEntropy(attrs));
    case LossType::Hinge:
      return f(Hinge(attrs));
    case LossType::Huber:
      return f(Huber(attrs));
    case LossType::Log:
      return f(Log(attrs));
    case LossType::KullbackLeiblerDivergence:
      return f(KullbackLeiblerDivergence(attrs));
    case LossType::SoftmaxCrossEntropy:
    case LossType::CategoricalCrossEntropy:
    case LossType::CosineDistance:
      break;  // not element-wise
  }
}

/// Calls f(block, first element, number of elements), threaded.
template <class F>
void for_each_loss_block(std::int64_t n, F&& f) {
  const std::int64_t blocks = (n + kLossBlock - 1) / kLossBlock;
  parallel_for(
      blocks, /*grain=*/2,
      [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t block = first; block < last; ++block) {
          const std::int64_t begin = block * kLossBlock;
          f(block, begin, std::min(kLossBlock, n - begin));
        }
      },
      /*multiple=*/1);
}

/// values[i] *= scale and the weight of element begin + i.
template <class T>
void weigh(const LossPlan& plan, const LossArgs<T>& args, std::int64_t begin,
           std::int64_t count, float scale, float* values) {
  if (args.weights && plan.has_many_weights) {
    const float* weights = args.weights + begin;
    for (std::int64_t i = 0; i < count; ++i) values[i] *= scale * weights[i];
    return;
  }
  if (args.weights) scale *= args.weights[0];
  for (std::int64_t i = 0; i < count; ++i) values[i] *= scale;
}

inline double sum_of_block(const float* values, std::int64_t count) {
  constexpr int kLanes = 8;
  double lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += values[i + lane];
  }
  for (; i < count; ++i) lanes[0] += values[i];
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
         ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

/// Losses that are a formula of one element and its label.
template <class Formula>
struct ElementLosses {
  Formula formula;

  template <class T>
  void loss(const LossPlan& plan, const LossArgs<T>& args) const {
    for_each_loss_block(
        plan.num_losses,
        [&](std::int64_t block, std::int64_t begin, std::int64_t count) {
          const T* y = args.prediction + begin;
          const float* t = args.labels + begin;
          float values[kLossBlock];
#pragma omp simd
          for (std::int64_t i = 0; i < count; ++i) {
            values[i] = formula.value(y[i], t[i]);
          }
          if (plan.is_reduced()) {
            if (args.weights) weigh(plan, args, begin, count, 1.0f, values);
            args.partials[block] = sum_of_block(values, count);
            return;
          }
          weigh(plan, args, begin, count, plan.attrs.weight, values);
          std::copy_n(values, count, args.result + begin);
        });
    if (plan.is_reduced()) finish_loss(plan, args.partials, args.result);
  }

  template <class T>
  void gradient(const LossPlan& plan, const LossArgs<T>& args) const {
    const double scale =
        plan.scale() * (plan.is_reduced() ? args.gradient[0] : 1);
    for_each_loss_block(plan.num_losses, [&](std::int64_t, std::int64_t begin,
                                             std::int64_t count) {
      const T* y = args.prediction + begin;
      const float* t = args.labels + begin;
      float values[kLossBlock];
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) {
        values[i] = formula.slope(y[i], t[i]);
      }
      weigh(plan, args, begin, count, static_cast<float>(scale), values);
      if (!plan.is_reduced()) {
        const float* gradient = args.gradient + begin;
        for (std::int64_t i = 0; i < count; ++i) values[i] *= gradient[i];
      }
      std::copy_n(values, count, args.dx + begin);
    });
  }
};

}  // namespace traingraph::cpu
