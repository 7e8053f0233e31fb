// SPDX-License-Identifier: MIT
// What each optimizer does to one element of a parameter and of its slots.
// Every update, of whatever rows and in whatever launch, takes these steps, and
// so gives the same bits where products and sums are not contracted.
//
// A step is made from what is the same for all elements. Its Options are known
// when a loop is compiled (FixedOptions), or when a kernel is launched
// (ChosenOptions). They name the numbers that the step computes with: floats,
// or nodes of a graph that is being built (metal/ops/update.mm).
#pragma once

#include "formulas/portable.h"
#include "formulas/run_time_scalars.h"

namespace traingraph {
namespace formulas {

/// Bits of UpdateParams::options.
enum UpdateOption {
  kHasScale = 1,  // a factor of gradients, below 0 where the step is skipped
  kClipsByValue = 2,
  kL1 = 4,
  kL2 = 8,
  kMomentum = 16,
  kNesterov = 32,
  kAmsgrad = 64,
  kDecoupledDecay = 128,
  kCentered = 256
};

/// The attributes of any update, as its step reads them.
struct UpdateParams {
  uint32 options = 0;
  float lr_scale = 1, rescale = 1, clip_min = 0, clip_max = 0;
  float strength = 0;  // of regularization, or of decoupled decay
  float momentum = 0;  // momentum_scale
  float beta1 = 0;     // RMSProp: alpha
  float beta2 = 0, epsilon = 0;
};

template <uint32 kBits>
struct FixedOptions {
  using Float = float;
  constexpr bool has(uint32 option) const { return (kBits & option) != 0; }
};

struct ChosenOptions {
  using Float = float;
  uint32 bits;
  constexpr bool has(uint32 option) const { return (bits & option) != 0; }
};

enum { kMaxUpdateSlots = 3 };

/// Of a parameter and its slots: in the order of the op's inputs.
template <class Float>
struct UpdateElementOf {
  Float parameter;
  Float slots[kMaxUpdateSlots];
};
using UpdateElement = UpdateElementOf<float>;

/// What every update does to the raw gradient first.
template <class Options>
struct Preparation {
  using Float = typename Options::Float;

  Float scale, clip_min, clip_max;
  float rescale, strength;
  Options options;

  Preparation(UpdateParams params, HyperparametersOf<Float> now,
              Float scale_of_step, Options chosen)
      : scale(scale_of_step),
        clip_min(-infinity()),
        clip_max(infinity()),
        rescale(params.rescale),
        strength(params.strength),
        options(chosen) {
    if ((params.options & kClipsByValue) == 0) return;
    clip_min = choose(now.clips == 0, clip_min, params.clip_min);
    clip_max = choose(now.clips == 0, clip_max, params.clip_max);
  }

  Float operator()(Float gradient, Float parameter) const {
    Float g = gradient * scale;
    g = minimum(maximum(g, clip_min), clip_max);
    g *= rescale;
    if (options.has(kL1)) g += strength * sign(parameter);
    if (options.has(kL2)) g += strength * parameter;
    return g;
  }
};

// Each step says which slots it changes, as bits, and which options its loop
// asks for.

template <class Options>
struct SgdStep {
  enum { kOptions = kL1 | kL2 | kMomentum | kNesterov };
  static constexpr uint32 slots(Options options) {
    return options.has(kMomentum) ? 1 : 0;
  }

  using Float = typename Options::Float;
  using Element = UpdateElementOf<Float>;

  Preparation<Options> prepared;
  Float rate;
  float mu;
  Options options;

  SgdStep(UpdateParams params, HyperparametersOf<Float> now, Float scale,
          Options chosen)
      : prepared(params, now, scale, chosen),
        rate(now.learning_rate * params.lr_scale),
        mu(params.momentum),
        options(chosen) {}

  Element operator()(Float gradient, Element e) const {
    const Float g = prepared(gradient, e.parameter);
    if (!options.has(kMomentum)) {
      e.parameter -= rate * g;
    } else if (options.has(kNesterov)) {
      e.slots[0] = mu * e.slots[0] + g;
      e.parameter -= rate * (g + mu * e.slots[0]);
    } else {
      e.slots[0] = mu * e.slots[0] + rate * g;
      e.parameter -= e.slots[0];
    }
    return e;
  }
};

/// Slots: momentum, velocity, and its maximum with AMSGrad.
template <class Options>
struct AdamStep {
  enum { kOptions = kL1 | kL2 | kAmsgrad };
  static constexpr uint32 slots(Options options) {
    return options.has(kAmsgrad) ? 7 : 3;
  }

  using Float = typename Options::Float;
  using Element = UpdateElementOf<Float>;

  Preparation<Options> prepared;
  Float rate, decay;
  float beta1, beta2, rest1, rest2, epsilon;
  Options options;

  AdamStep(UpdateParams params, HyperparametersOf<Float> now, Float scale,
           Options chosen)
      : prepared(params, now, scale, chosen),
        rate(now.corrected_rate * params.lr_scale),
        decay((params.options & kDecoupledDecay) != 0
                  ? now.learning_rate * params.lr_scale * params.strength
                  : Float(0)),
        beta1(params.beta1),
        beta2(params.beta2),
        rest1(1 - params.beta1),
        rest2(1 - params.beta2),
        epsilon(params.epsilon),
        options(chosen) {}

  Element operator()(Float gradient, Element e) const {
    const Float g = prepared(gradient, e.parameter);
    const Float m = beta1 * e.slots[0] + rest1 * g;
    const Float v = beta2 * e.slots[1] + rest2 * (g * g);
    Float second = v;
    if (options.has(kAmsgrad)) {
      second = maximum(v, e.slots[2]);
      e.slots[2] = second;
    }
    e.slots[0] = m;
    e.slots[1] = v;
    e.parameter -= rate * m / (sqrt(second) + epsilon) + decay * e.parameter;
    return e;
  }
};

/// Slots: the average of squares, momentum, and the average of gradients where
/// it is centered.
template <class Options>
struct RmspropStep {
  enum { kOptions = kL1 | kL2 | kMomentum | kCentered };
  static constexpr uint32 slots(Options options) {
    return 1 | (options.has(kMomentum) ? 2 : 0) |
           (options.has(kCentered) ? 4 : 0);
  }

  using Float = typename Options::Float;
  using Element = UpdateElementOf<Float>;

  Preparation<Options> prepared;
  Float rate;
  float mu, alpha, rest, epsilon;
  Options options;

  RmspropStep(UpdateParams params, HyperparametersOf<Float> now, Float scale,
              Options chosen)
      : prepared(params, now, scale, chosen),
        rate(now.learning_rate * params.lr_scale),
        mu(params.momentum),
        alpha(params.beta1),
        rest(1 - params.beta1),
        epsilon(params.epsilon),
        options(chosen) {}

  Element operator()(Float gradient, Element e) const {
    const Float g = prepared(gradient, e.parameter);
    Float variance = alpha * e.slots[0] + rest * (g * g);
    e.slots[0] = variance;
    if (options.has(kCentered)) {
      const Float average = alpha * e.slots[2] + rest * g;
      e.slots[2] = average;
      variance -= average * average;
      // Rounding may push a variance of nothing below zero.
      variance = maximum(variance, Float(0));
    }
    const Float step = rate * g / (sqrt(variance) + epsilon);
    if (options.has(kMomentum)) {
      e.slots[1] = mu * e.slots[1] - step;
      e.parameter += e.slots[1];
    } else {
      e.parameter -= step;
    }
    return e;
  }
};

/// The optimizers: UPDATE(OpKind, name of the op, its step).
#define TRAINGRAPH_UPDATES(UPDATE)          \
  UPDATE(SgdUpdate, sgd_update, SgdStep)    \
  UPDATE(AdamUpdate, adam_update, AdamStep) \
  UPDATE(RmspropUpdate, rmsprop_update, RmspropStep)

/// What an accumulator becomes. One that starts over may hold anything, NaN
/// included.
inline float accumulated(AccumulationFactors factors, float sum,
                         float gradient) {
  const float more = factors.add * gradient;
  return factors.keep != 0 ? factors.keep * sum + more : more;
}

}  // namespace formulas
}  // namespace traingraph
