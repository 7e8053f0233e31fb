// SPDX-License-Identifier: MIT
// Optimizer updates and what surrounds them. All rates that change between
// steps come from the rates tensor, so nothing is compiled again for them.
#import "metal/graph_builder.h"

namespace traingraph::metal {
namespace {

// Entries of the rates tensor.
enum { kLearningRate, kCorrectedRate, kClips };

/// One entry of a list, shape (1).
T entry(GraphBuilder& b, int list, int index) {
  return [b.graph() sliceTensor:b.input(list)
                      dimension:0
                          start:index
                         length:1
                           name:b.name()];
}

/// A rate for this parameter, shape (1).
template <class Attrs>
T rate(GraphBuilder& b, const Attrs& attrs, int rates, int index) {
  T rate = entry(b, rates, index);
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
/// regularisation. The scale, when there is one, follows the rates.
template <class Attrs>
T rescaled_gradient(GraphBuilder& b, const Attrs& attrs, int rates) {
  T g = b.input(1);
  if (b.has(rates + 1)) g = b.mul(g, b.input(rates + 1));
  if (attrs.clips_by_value) {
    T clipped =
        b.min(b.max(g, attrs.gradient_clip_min), attrs.gradient_clip_max);
    g = b.select(b.greater(entry(b, rates, kClips), 0.0), clipped, g);
  }
  return b.mul(g, attrs.gradient_rescale);
}

}  // namespace

void lower_sgd_update(GraphBuilder& b) {
  enum { kParameter, kGradient, kMomentum, kRates };
  const auto& attrs = b.attrs<SgdUpdateAttrs>();
  T p = b.input(kParameter);
  T lr = rate(b, attrs, kRates, kLearningRate);
  T g = regularized(b, attrs, rescaled_gradient(b, attrs, kRates), p);
  if (!b.has(kMomentum)) return b.update(kParameter, b.sub(p, b.mul(lr, g)));

  const double mu = attrs.momentum_scale;
  T carried = b.mul(b.input(kMomentum), mu);
  if (attrs.uses_nesterov_momentum) {
    T m = b.add(carried, g);
    b.update(kMomentum, m);
    b.update(kParameter, b.sub(p, b.mul(lr, b.add(g, b.mul(m, mu)))));
  } else {
    T m = b.add(carried, b.mul(lr, g));
    b.update(kMomentum, m);
    b.update(kParameter, b.sub(p, m));
  }
}

void lower_adam_update(GraphBuilder& b) {
  enum { kParameter, kGradient, kMomentum, kVelocity, kMaximum, kRates };
  const auto& attrs = b.attrs<AdamUpdateAttrs>();
  T p = b.input(kParameter);
  T g = rescaled_gradient(b, attrs, kRates);
  if (!attrs.decoupled_decay) g = regularized(b, attrs, g, p);

  T m = blend(b, attrs.beta1, b.input(kMomentum), g);
  T v = blend(b, attrs.beta2, b.input(kVelocity), b.square(g));
  b.update(kMomentum, m);
  b.update(kVelocity, v);
  if (attrs.uses_amsgrad) {
    v = b.max(b.input(kMaximum), v);
    b.update(kMaximum, v);
  }
  T direction = b.div(m, b.add(b.sqrt(v), attrs.epsilon));
  T step = b.mul(rate(b, attrs, kRates, kCorrectedRate), direction);
  if (attrs.decoupled_decay) {
    T decay = b.mul(rate(b, attrs, kRates, kLearningRate),
                    attrs.regularization_scale);
    step = b.add(step, b.mul(decay, p));
  }
  b.update(kParameter, b.sub(p, step));
}

void lower_rmsprop_update(GraphBuilder& b) {
  enum { kParameter, kGradient, kSquare, kMomentum, kAverage, kRates };
  const auto& attrs = b.attrs<RmspropUpdateAttrs>();
  T p = b.input(kParameter);
  T g = regularized(b, attrs, rescaled_gradient(b, attrs, kRates), p);

  T variance = blend(b, attrs.alpha, b.input(kSquare), b.square(g));
  b.update(kSquare, variance);
  if (attrs.is_centered) {
    T average = blend(b, attrs.alpha, b.input(kAverage), g);
    b.update(kAverage, average);
    // Rounding may push a variance of nothing below zero.
    variance = b.max(b.sub(variance, b.square(average)), 0.0);
  }
  T direction = b.div(g, b.add(b.sqrt(variance), attrs.epsilon));
  T step = b.mul(rate(b, attrs, kRates, kLearningRate), direction);
  if (b.has(kMomentum)) {
    T m = b.sub(b.mul(b.input(kMomentum), attrs.momentum_scale), step);
    b.update(kMomentum, m);
    b.update(kParameter, b.add(p, m));
  } else {
    b.update(kParameter, b.sub(p, step));
  }
}

void lower_clip_scale(GraphBuilder& b) {
  enum { kRates, kFirstSquare };
  const auto& attrs = b.attrs<ClipScaleAttrs>();
  // Norms and rates are float32 whatever the gradients are.
  T norm = b.scalar(attrs.custom_norm, DataType::Float32);
  if (attrs.custom_norm == 0 && b.num_inputs() > kFirstSquare) {
    NSMutableArray<MPSGraphTensor*>* squares = [NSMutableArray array];
    for (int i = kFirstSquare; i < b.num_inputs(); ++i) {
      [squares addObject:b.input(i)];
    }
    T all = [b.graph() concatTensors:squares dimension:0 name:b.name()];
    norm = b.sqrt(b.sum(all, {b.num_inputs() - kFirstSquare}, {0}));
  }
  // A norm that is NaN is not within, and makes NaN of all that it scales.
  T is_within = b.at_least(b.sub(double{attrs.maximum_norm}, norm), 0.0);
  T clips =
      b.both(b.greater(entry(b, kRates, kClips), 0.0), b.negate(is_within));
  T scale = b.div(double{attrs.maximum_norm}, norm);
  b.set(b.select(clips, scale, 1.0));
}

void lower_accumulate_gradient(GraphBuilder& b) {
  enum { kAccumulator, kGradient, kFactors };
  T keep = entry(b, kFactors, 0), add = entry(b, kFactors, 1);
  // An accumulator that starts over may hold anything, NaN included.
  T kept =
      b.select(b.equal(keep, 0.0), 0.0, b.mul(b.input(kAccumulator), keep));
  b.update(kAccumulator, b.add(kept, b.mul(b.input(kGradient), add)));
}

}  // namespace traingraph::metal
