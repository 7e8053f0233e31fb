// SPDX-License-Identifier: MIT
// Optimizer updates and what surrounds them. What changes between steps comes
// from the hyperparameters tensor, so nothing is compiled again for it.
#include <cmath>
#include <limits>

#include "formulas/run_time_scalars.h"
#import "metal/graph_builder.h"

namespace traingraph::metal {
namespace {

using formulas::AccumulationFactors;
using formulas::Hyperparameters;

/// The entry of a tensor of run-time scalars that is this member, shape (1).
template <class Scalars>
T entry(GraphBuilder& b, int input, float Scalars::* member) {
  const Scalars scalars;
  const auto* const first = reinterpret_cast<const float*>(&scalars);
  return b.entry(input, static_cast<int>(&(scalars.*member) - first));
}

/// A rate for this parameter, shape (1).
template <class Attrs>
T rate(GraphBuilder& b, const Attrs& attrs, int hyperparameters,
       float Hyperparameters::* member) {
  T rate = entry(b, hyperparameters, member);
  return attrs.lr_scale == 1 ? rate : b.mul(rate, attrs.lr_scale);
}

/// a * x + (1 - a) * y
T blend(GraphBuilder& b, double a, T x, T y) {
  return b.add(b.mul(x, a), b.mul(y, 1 - a));
}

template <class Attrs>
T regularized(GraphBuilder& b, const Attrs& attrs, T g, T p) {
  switch (attrs.regularization_type) {
    case RegularizationType::None:
      return g;
    case RegularizationType::L1:
      return b.add(g, b.mul(b.sign(p), attrs.regularization_scale));
    case RegularizationType::L2:
      return b.add(g, b.mul(p, attrs.regularization_scale));
  }
}

/// What every update does to the raw gradient (input 1) first, up to the
/// regularisation. The scale, when there is one, follows the hyperparameters.
template <class Attrs>
T rescaled_gradient(GraphBuilder& b, const Attrs& attrs, int hyperparameters) {
  T g = b.input(1);
  if (b.has(hyperparameters + 1)) g = b.mul(g, b.input(hyperparameters + 1));
  if (attrs.clips_by_value) {
    T clipped =
        b.min(b.max(g, attrs.gradient_clip_min), attrs.gradient_clip_max);
    g = b.select(
        b.greater(entry(b, hyperparameters, &Hyperparameters::clips), 0.0),
        clipped, g);
  }
  return b.mul(g, attrs.gradient_rescale);
}

/// Gives a parameter or slot its new contents, unless the step is skipped.
void change(GraphBuilder& b, int input, T tensor, int hyperparameters) {
  if (b.has(hyperparameters + 1)) {
    T is_skipped = b.less(b.input(hyperparameters + 1), 0.0);
    tensor = b.select(is_skipped, b.input(input), tensor);
  }
  b.update(input, tensor);
}

}  // namespace

void lower_sgd_update(GraphBuilder& b) {
  enum { kParameter, kGradient, kMomentum, kHyperparameters };
  const auto& attrs = b.attrs<SgdUpdateAttrs>();
  T p = b.input(kParameter);
  T lr = rate(b, attrs, kHyperparameters, &Hyperparameters::learning_rate);
  T g = regularized(b, attrs, rescaled_gradient(b, attrs, kHyperparameters), p);
  if (!b.has(kMomentum))
    return change(b, kParameter, b.sub(p, b.mul(lr, g)), kHyperparameters);

  const double mu = attrs.momentum_scale;
  T carried = b.mul(b.input(kMomentum), mu);
  if (attrs.uses_nesterov_momentum) {
    T m = b.add(carried, g);
    change(b, kMomentum, m, kHyperparameters);
    change(b, kParameter, b.sub(p, b.mul(lr, b.add(g, b.mul(m, mu)))),
           kHyperparameters);
  } else {
    T m = b.add(carried, b.mul(lr, g));
    change(b, kMomentum, m, kHyperparameters);
    change(b, kParameter, b.sub(p, m), kHyperparameters);
  }
}

void lower_adam_update(GraphBuilder& b) {
  enum {
    kParameter,
    kGradient,
    kMomentum,
    kVelocity,
    kMaximum,
    kHyperparameters
  };
  const auto& attrs = b.attrs<AdamUpdateAttrs>();
  T p = b.input(kParameter);
  T g = rescaled_gradient(b, attrs, kHyperparameters);
  if (!attrs.decoupled_decay) g = regularized(b, attrs, g, p);

  T m = blend(b, attrs.beta1, b.input(kMomentum), g);
  T v = blend(b, attrs.beta2, b.input(kVelocity), b.square(g));
  change(b, kMomentum, m, kHyperparameters);
  change(b, kVelocity, v, kHyperparameters);
  if (attrs.uses_amsgrad) {
    v = b.max(b.input(kMaximum), v);
    change(b, kMaximum, v, kHyperparameters);
  }
  T direction = b.div(m, b.add(b.sqrt(v), attrs.epsilon));
  T step =
      b.mul(rate(b, attrs, kHyperparameters, &Hyperparameters::corrected_rate),
            direction);
  if (attrs.decoupled_decay) {
    T decay =
        b.mul(rate(b, attrs, kHyperparameters, &Hyperparameters::learning_rate),
              attrs.regularization_scale);
    step = b.add(step, b.mul(decay, p));
  }
  change(b, kParameter, b.sub(p, step), kHyperparameters);
}

void lower_rmsprop_update(GraphBuilder& b) {
  enum {
    kParameter,
    kGradient,
    kSquare,
    kMomentum,
    kAverage,
    kHyperparameters
  };
  const auto& attrs = b.attrs<RmspropUpdateAttrs>();
  T p = b.input(kParameter);
  T g = regularized(b, attrs, rescaled_gradient(b, attrs, kHyperparameters), p);

  T variance = blend(b, attrs.alpha, b.input(kSquare), b.square(g));
  change(b, kSquare, variance, kHyperparameters);
  if (attrs.is_centered) {
    T average = blend(b, attrs.alpha, b.input(kAverage), g);
    change(b, kAverage, average, kHyperparameters);
    // Rounding may push a variance of nothing below zero.
    variance = b.max(b.sub(variance, b.square(average)), 0.0);
  }
  T direction = b.div(g, b.add(b.sqrt(variance), attrs.epsilon));
  T step =
      b.mul(rate(b, attrs, kHyperparameters, &Hyperparameters::learning_rate),
            direction);
  if (b.has(kMomentum)) {
    T m = b.sub(b.mul(b.input(kMomentum), attrs.momentum_scale), step);
    change(b, kMomentum, m, kHyperparameters);
    change(b, kParameter, b.add(p, m), kHyperparameters);
  } else {
    change(b, kParameter, b.sub(p, step), kHyperparameters);
  }
}

namespace {

T sum_of(GraphBuilder& b, NSArray<MPSGraphTensor*>* entries) {
  T all = [b.graph() concatTensors:entries dimension:0 name:b.name()];
  return b.sum(all, {static_cast<std::int64_t>(entries.count)}, {0});
}

/// The norm of gradients from their `count` squared norms. Where float32 cannot
/// hold a square, that of the gradient by 2^64 is taken, and the others by
/// 2^128.
T norm_of(GraphBuilder& b, int first, int count, bool has_gradients) {
  constexpr double kMax = 3e38, kSmaller = 0x1p-64;
  NSMutableArray<MPSGraphTensor*>* squares = [NSMutableArray array];
  NSMutableArray<MPSGraphTensor*>* small = [NSMutableArray array];
  for (int i = first; i < first + count; ++i) {
    T square = b.input(i);
    [squares addObject:square];
    if (!has_gradients) continue;
    const Shape& shape = b.input_shape(i + count);
    T gradient = b.mul(b.input(i + count), kSmaller);
    T again = b.reshape(b.sum(b.square(gradient), shape, {0, 1}), {1});
    T scaled = b.mul(b.mul(square, kSmaller), kSmaller);
    [small addObject:b.select(b.greater(square, kMax), again, scaled)];
  }
  T sum = sum_of(b, squares);
  if (!has_gradients) return b.sqrt(sum);
  T large = b.div(b.sqrt(sum_of(b, small)), kSmaller);
  return b.select(b.greater(sum, kMax), large, b.sqrt(sum));
}

}  // namespace

void lower_clip_scale(GraphBuilder& b) {
  enum { kHyperparameters, kFirstSquare };
  const auto& attrs = b.attrs<ClipScaleAttrs>();
  // Norms and hyperparameters are float32 whatever the gradients are.
  T norm = b.scalar(attrs.custom_norm, DataType::Float32);
  const int last = b.num_inputs() - 1;
  if (attrs.custom_norm == 0 && last >= kFirstSquare) {
    const bool has_gradients = b.input_shape(last).rank() == 2;
    norm = norm_of(b, kFirstSquare, has_gradients ? last / 2 : last,
                   has_gradients);
  }
  // A norm that is NaN is not within, and makes NaN of all that it scales.
  T is_within = b.at_least(b.sub(double{attrs.maximum_norm}, norm), 0.0);
  T clips = b.both(
      b.greater(entry(b, kHyperparameters, &Hyperparameters::clips), 0.0),
      b.negate(is_within));
  T scale = b.div(double{attrs.maximum_norm}, norm);
  b.set(b.select(clips, scale, 1.0));
}

namespace {

/// e^x - 1 for x <= 0, with all digits near 0.
T expm1(GraphBuilder& b, T x) {
  T t = b.tanh(b.mul(x, 0.5));
  return b.div(b.mul(t, 2), b.sub(1, t));
}

/// Adam's rate of a step whose number does not count the skipped ones.
T corrected_rate(GraphBuilder& b, const LossScaleAttrs& attrs,
                 T skipped_steps) {
  enum { kLossScale, kHyperparameters };
  T given = entry(b, kHyperparameters, &Hyperparameters::corrected_rate);
  if (attrs.beta1 == 0 && attrs.beta2 == 0) return given;
  T step = b.max(b.sub(entry(b, kHyperparameters, &Hyperparameters::time_step),
                       skipped_steps),
                 1.0);
  const auto rest = [&](float beta) {  // 1 - beta^step
    if (beta == 0) return b.scalar_like(step, 1);
    return b.neg(expm1(b, b.mul(step, std::log(double{beta}))));
  };
  T rate = b.mul(entry(b, kHyperparameters, &Hyperparameters::learning_rate),
                 b.sqrt(rest(attrs.beta2)));
  return b.select(b.equal(skipped_steps, 0.0), given,
                  b.div(rate, rest(attrs.beta1)));
}

T joined(GraphBuilder& b, std::initializer_list<T> entries) {
  NSMutableArray<MPSGraphTensor*>* list = [NSMutableArray array];
  for (T each : entries) [list addObject:each];
  return [b.graph() concatTensors:list dimension:0 name:b.name()];
}

}  // namespace

void lower_update_loss_scale(GraphBuilder& b) {
  enum { kLossScale, kHyperparameters, kFirstSquare };
  const auto& attrs = b.attrs<LossScaleAttrs>();
  using formulas::LossScale;
  T factor = entry(b, kLossScale, &LossScale::factor);
  T growth_counter = entry(b, kLossScale, &LossScale::growth_counter);
  T skipped_steps = entry(b, kLossScale, &LossScale::skipped_steps);
  T unused = entry(b, kLossScale, &LossScale::unused);
  T is_finite = nil;
  for (int i = kFirstSquare; i < b.num_inputs(); ++i) {
    // A NaN is not below infinity either.
    T own = b.less(b.input(i), std::numeric_limits<double>::infinity());
    is_finite = is_finite ? b.both(is_finite, own) : own;
  }
  T scale = b.select(is_finite, 1.0, -1.0, DataType::Float32);
  skipped_steps = b.select(is_finite, skipped_steps, b.add(skipped_steps, 1));
  growth_counter = b.add(growth_counter, 1);
  T grows = b.at_least(growth_counter, static_cast<double>(attrs.interval));
  T grown = b.select(grows, b.min(b.mul(factor, 2), 0x1p24), factor);
  T halved = b.max(b.mul(factor, 0.5), 0x1p-24);
  factor = b.select(is_finite, grown, halved);
  growth_counter =
      b.select(b.both(is_finite, b.negate(grows)), growth_counter, 0.0);
  T corrected = corrected_rate(b, attrs, skipped_steps);
  b.update(kLossScale,
           joined(b, {factor, growth_counter, skipped_steps, unused}));
  b.set(scale, 0);
  b.set(
      joined(b, {entry(b, kHyperparameters, &Hyperparameters::learning_rate),
                 corrected, entry(b, kHyperparameters, &Hyperparameters::clips),
                 entry(b, kHyperparameters, &Hyperparameters::time_step)}),
      1);
}

void lower_accumulate_gradient(GraphBuilder& b) {
  enum { kAccumulator, kGradient, kFactors };
  T keep = entry(b, kFactors, &AccumulationFactors::keep);
  T add = entry(b, kFactors, &AccumulationFactors::add);
  // An accumulator that starts over may hold anything, NaN included.
  T kept =
      b.select(b.equal(keep, 0.0), 0.0, b.mul(b.input(kAccumulator), keep));
  b.update(kAccumulator, b.add(kept, b.mul(b.input(kGradient), add)));
}

}  // namespace traingraph::metal
