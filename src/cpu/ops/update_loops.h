// SPDX-License-Identifier: MIT
// The loops of the optimizers: one pass over parameter, gradient and slots
// each. Only the gradient's stored type varies; all else is float32.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "cpu/parallel.h"
#include "traingraph/op_attrs.h"

namespace traingraph::cpu {

/// Entries of the rates tensor.
enum { kLearningRate, kCorrectedRate, kClips };

/// What every update does to the raw gradient first. Its members are fixed for
/// one run, so that loops over operator() vectorise.
template <RegularizationType kRegularization>
struct Preparation {
  float scale, clip_min, clip_max, rescale, strength;

  float operator()(float gradient, float parameter) const {
    float g = gradient * scale;
    g = g < clip_min ? clip_min : g;
    g = g > clip_max ? clip_max : g;
    g *= rescale;
    if constexpr (kRegularization == RegularizationType::L1) {
      const float sign =
          static_cast<float>(parameter > 0) - static_cast<float>(parameter < 0);
      g += strength * sign;
    }
    if constexpr (kRegularization == RegularizationType::L2) {
      g += strength * parameter;
    }
    return g;
  }
};

template <RegularizationType kRegularization, class Attrs>
Preparation<kRegularization> prepare(const Attrs& attrs, const float* rates,
                                     const float* scale) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const bool clips = attrs.clips_by_value && rates[kClips] != 0;
  return {.scale = scale ? *scale : 1.0f,
          .clip_min = clips ? attrs.gradient_clip_min : -kInfinity,
          .clip_max = clips ? attrs.gradient_clip_max : kInfinity,
          .rescale = attrs.gradient_rescale,
          .strength = attrs.regularization_scale};
}

/// Calls f with the type of regularisation as a constant.
template <class F>
void with_regularization(RegularizationType type, F&& f) {
  using enum RegularizationType;
  switch (type) {
    case L1:
      return f(std::integral_constant<RegularizationType, L1>{});
    case L2:
      return f(std::integral_constant<RegularizationType, L2>{});
    case None:
      return f(std::integral_constant<RegularizationType, None>{});
  }
}

/// Runs `step(i)` for every element; steps are independent of each other.
template <class Step>
void for_each_parameter(std::int64_t n, const Step& step) {
  parallel_for(n, kCheapGrain, [&](std::int64_t begin, std::int64_t end) {
    // A copy, so that no store can be taken for a change of a constant.
    const Step local = step;
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) local(i);
  });
}

template <class G>
struct SgdArgs {
  float* p;
  const G* gradient;
  float* m;  // null: no momentum
  const float* rates;
  const float* scale;
};

template <RegularizationType kRegularization, class G>
void sgd(const SgdUpdateAttrs& attrs, const SgdArgs<G>& args, std::int64_t n) {
  const auto prepared = prepare<kRegularization>(attrs, args.rates, args.scale);
  const float rate = args.rates[kLearningRate], mu = attrs.momentum_scale;
  float *p = args.p, *m = args.m;
  const G* gradient = args.gradient;
  if (!m) {
    for_each_parameter(
        n, [=](std::int64_t i) { p[i] -= rate * prepared(gradient[i], p[i]); });
  } else if (attrs.uses_nesterov_momentum) {
    for_each_parameter(n, [=](std::int64_t i) {
      const float g = prepared(gradient[i], p[i]);
      m[i] = mu * m[i] + g;
      p[i] -= rate * (g + mu * m[i]);
    });
  } else {
    for_each_parameter(n, [=](std::int64_t i) {
      m[i] = mu * m[i] + rate * prepared(gradient[i], p[i]);
      p[i] -= m[i];
    });
  }
}

template <class G>
struct AdamArgs {
  float* p;
  const G* gradient;
  float *m, *v, *v_max;  // v_max is null without AMSGrad
  const float* rates;
  const float* scale;
};

template <RegularizationType kRegularization, class G>
void adam(const AdamUpdateAttrs& attrs, const AdamArgs<G>& args,
          std::int64_t n) {
  const auto prepared = prepare<kRegularization>(attrs, args.rates, args.scale);
  const float rate = args.rates[kCorrectedRate];
  const float decay = attrs.decoupled_decay ? args.rates[kLearningRate] *
                                                  attrs.regularization_scale
                                            : 0.0f;
  const float beta1 = attrs.beta1, beta2 = attrs.beta2;
  const float rest1 = 1 - beta1, rest2 = 1 - beta2, epsilon = attrs.epsilon;
  float *p = args.p, *m = args.m, *v = args.v, *v_max = args.v_max;
  const G* gradient = args.gradient;
  if (attrs.uses_amsgrad) {
    for_each_parameter(n, [=](std::int64_t i) {
      const float g = prepared(gradient[i], p[i]);
      m[i] = beta1 * m[i] + rest1 * g;
      v[i] = beta2 * v[i] + rest2 * (g * g);
      v_max[i] = v_max[i] > v[i] ? v_max[i] : v[i];
      p[i] -= rate * m[i] / (std::sqrt(v_max[i]) + epsilon) + decay * p[i];
    });
    return;
  }
  for_each_parameter(n, [=](std::int64_t i) {
    const float g = prepared(gradient[i], p[i]);
    m[i] = beta1 * m[i] + rest1 * g;
    v[i] = beta2 * v[i] + rest2 * (g * g);
    p[i] -= rate * m[i] / (std::sqrt(v[i]) + epsilon) + decay * p[i];
  });
}

template <class G>
struct RmspropArgs {
  float* p;
  const G* gradient;
  float *square, *momentum, *average;  // the last two may be null
  const float* rates;
  const float* scale;
};

template <RegularizationType kRegularization, bool kCentered, bool kMomentum,
          class G>
void rmsprop(const RmspropUpdateAttrs& attrs, const RmspropArgs<G>& args,
             std::int64_t n) {
  const auto prepared = prepare<kRegularization>(attrs, args.rates, args.scale);
  const float rate = args.rates[kLearningRate], mu = attrs.momentum_scale;
  const float alpha = attrs.alpha, rest = 1 - alpha, epsilon = attrs.epsilon;
  float *p = args.p, *square = args.square, *momentum = args.momentum,
        *average = args.average;
  const G* gradient = args.gradient;
  for_each_parameter(n, [=](std::int64_t i) {
    const float g = prepared(gradient[i], p[i]);
    square[i] = alpha * square[i] + rest * (g * g);
    float variance = square[i];
    if constexpr (kCentered) {
      average[i] = alpha * average[i] + rest * g;
      variance -= average[i] * average[i];
      // Rounding may push a variance of nothing below zero.
      variance = variance < 0 ? 0 : variance;
    }
    const float step = rate * g / (std::sqrt(variance) + epsilon);
    if constexpr (kMomentum) {
      momentum[i] = mu * momentum[i] - step;
      p[i] += momentum[i];
    } else {
      p[i] -= step;
    }
  });
}

/// The instance that `attrs` ask for.
template <class G>
void rmsprop(const RmspropUpdateAttrs& attrs, const RmspropArgs<G>& args,
             std::int64_t n) {
  with_regularization(attrs.regularization_type, [&](auto type) {
    if (attrs.is_centered && args.momentum) {
      rmsprop<type(), true, true>(attrs, args, n);
    } else if (attrs.is_centered) {
      rmsprop<type(), true, false>(attrs, args, n);
    } else if (args.momentum) {
      rmsprop<type(), false, true>(attrs, args, n);
    } else {
      rmsprop<type(), false, false>(attrs, args, n);
    }
  });
}

/// sum = keep * sum + gradient. An accumulator that starts over may hold
/// anything, NaN included.
template <class G>
void accumulate(float keep, float* sum, const G* gradient, std::int64_t n) {
  if (keep != 0) {
    for_each_parameter(
        n, [=](std::int64_t i) { sum[i] = keep * sum[i] + gradient[i]; });
  } else {
    for_each_parameter(n, [=](std::int64_t i) { sum[i] = gradient[i]; });
  }
}

}  // namespace traingraph::cpu
