// SPDX-License-Identifier: MIT
// Losses of one element of the prediction and one label (formulas/loss.h) in
// one pass over blocks.
#pragma once

#include <algorithm>

#include "cpu/ops/loss_args.h"
#include "cpu/parallel.h"
#include "formulas/loss.h"

namespace traingraph::cpu {

/// Calls f with the formula of an element-wise loss.
template <class F>
void with_formula(const LossAttrs& attrs, F&& f) {
  namespace losses = formulas::losses;
  switch (attrs.type) {
    case LossType::MeanAbsoluteError:
      return f(losses::MeanAbsoluteError());
    case LossType::MeanSquaredError:
      return f(losses::MeanSquaredError());
    case LossType::SigmoidCrossEntropy:
      return f(losses::SigmoidCrossEntropy{1 - attrs.label_smoothing,
                                           attrs.label_smoothing / 2});
    case LossType::Hinge:
      return f(losses::Hinge());
    case LossType::Huber:
      return f(losses::Huber{attrs.delta});
    case LossType::Log:
      return f(losses::Log{attrs.epsilon});
    case LossType::KullbackLeiblerDivergence:
      return f(losses::KullbackLeiblerDivergence());
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
