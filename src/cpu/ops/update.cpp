// SPDX-License-Identifier: MIT
// Optimizer updates: one pass over parameter, gradient and slots each. The
// hyper-parameters that change between steps come from the rates tensor.
#include <cmath>
#include <cstring>
#include <limits>

#include "cpu/lowering.h"
#include "cpu/parallel.h"
#include "cpu/typed_address.h"

namespace traingraph::cpu {
namespace {

// Entries of the rates tensor.
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
void for_each_element(std::int64_t n, const Step& step) {
  parallel_for(n, kCheapGrain, [&](std::int64_t begin, std::int64_t end) {
    // A copy, so that no store can be taken for a change of a constant.
    const Step local = step;
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) local(i);
  });
}

/// Argument of an optional input; -1 when it is absent.
int mutate_if(NodeLowering& lowering, int input) {
  return lowering.has(input) ? lowering.mutate(input) : -1;
}
int read_if(NodeLowering& lowering, int input) {
  return lowering.has(input) ? lowering.read(input) : -1;
}
float* address_if(std::span<std::byte* const> at, int arg) {
  return arg < 0 ? nullptr : floats(at[arg]);
}

struct SgdArgs {
  float* p;
  const float* gradient;
  float* m;  // null: no momentum
  const float* rates;
  const float* scale;
};

template <RegularizationType kRegularization>
void sgd(const SgdUpdateAttrs& attrs, const SgdArgs& args, std::int64_t n) {
  const auto prepared = prepare<kRegularization>(attrs, args.rates, args.scale);
  const float rate = args.rates[kLearningRate], mu = attrs.momentum_scale;
  float *p = args.p, *m = args.m;
  const float* gradient = args.gradient;
  if (!m) {
    for_each_element(
        n, [=](std::int64_t i) { p[i] -= rate * prepared(gradient[i], p[i]); });
  } else if (attrs.uses_nesterov_momentum) {
    for_each_element(n, [=](std::int64_t i) {
      const float g = prepared(gradient[i], p[i]);
      m[i] = mu * m[i] + g;
      p[i] -= rate * (g + mu * m[i]);
    });
  } else {
    for_each_element(n, [=](std::int64_t i) {
      m[i] = mu * m[i] + rate * prepared(gradient[i], p[i]);
      p[i] -= m[i];
    });
  }
}

struct AdamArgs {
  float* p;
  const float* gradient;
  float *m, *v, *v_max;  // v_max is null without AMSGrad
  const float* rates;
  const float* scale;
};

template <RegularizationType kRegularization>
void adam(const AdamUpdateAttrs& attrs, const AdamArgs& args, std::int64_t n) {
  const auto prepared = prepare<kRegularization>(attrs, args.rates, args.scale);
  const float rate = args.rates[kCorrectedRate];
  const float decay = attrs.decoupled_decay ? args.rates[kLearningRate] *
                                                  attrs.regularization_scale
                                            : 0.0f;
  const float beta1 = attrs.beta1, beta2 = attrs.beta2;
  const float rest1 = 1 - beta1, rest2 = 1 - beta2, epsilon = attrs.epsilon;
  float *p = args.p, *m = args.m, *v = args.v, *v_max = args.v_max;
  const float* gradient = args.gradient;
  if (attrs.uses_amsgrad) {
    for_each_element(n, [=](std::int64_t i) {
      const float g = prepared(gradient[i], p[i]);
      m[i] = beta1 * m[i] + rest1 * g;
      v[i] = beta2 * v[i] + rest2 * (g * g);
      v_max[i] = v_max[i] > v[i] ? v_max[i] : v[i];
      p[i] -= rate * m[i] / (std::sqrt(v_max[i]) + epsilon) + decay * p[i];
    });
    return;
  }
  for_each_element(n, [=](std::int64_t i) {
    const float g = prepared(gradient[i], p[i]);
    m[i] = beta1 * m[i] + rest1 * g;
    v[i] = beta2 * v[i] + rest2 * (g * g);
    p[i] -= rate * m[i] / (std::sqrt(v[i]) + epsilon) + decay * p[i];
  });
}

struct RmspropArgs {
  float* p;
  const float* gradient;
  float *square, *momentum, *average;  // the last two may be null
  const float* rates;
  const float* scale;
};

template <RegularizationType kRegularization, bool kCentered, bool kMomentum>
void rmsprop(const RmspropUpdateAttrs& attrs, const RmspropArgs& args,
             std::int64_t n) {
  const auto prepared = prepare<kRegularization>(attrs, args.rates, args.scale);
  const float rate = args.rates[kLearningRate], mu = attrs.momentum_scale;
  const float alpha = attrs.alpha, rest = 1 - alpha, epsilon = attrs.epsilon;
  float *p = args.p, *square = args.square, *momentum = args.momentum,
        *average = args.average;
  const float* gradient = args.gradient;
  for_each_element(n, [=](std::int64_t i) {
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

}  // namespace

void lower_sgd_update(NodeLowering& lowering) {
  const auto attrs = lowering.attrs<SgdUpdateAttrs>();
  const std::int64_t n = lowering.input_shape(0).num_elements();
  const int p = lowering.mutate(0), gradient = lowering.read(1);
  const int m = mutate_if(lowering, 2);
  const int rates = lowering.read(3), scale = read_if(lowering, 4);
  lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
    const SgdArgs args{floats(at[p]), floats(at[gradient]), address_if(at, m),
                       floats(at[rates]), address_if(at, scale)};
    return [=] {
      with_regularization(attrs.regularization_type,
                          [&](auto type) { sgd<type()>(attrs, args, n); });
    };
  });
}

void lower_adam_update(NodeLowering& lowering) {
  const auto attrs = lowering.attrs<AdamUpdateAttrs>();
  const std::int64_t n = lowering.input_shape(0).num_elements();
  const int p = lowering.mutate(0), gradient = lowering.read(1);
  const int m = lowering.mutate(2), v = lowering.mutate(3);
  const int v_max = mutate_if(lowering, 4);
  const int rates = lowering.read(5), scale = read_if(lowering, 6);
  const RegularizationType regularization = attrs.decoupled_decay
                                                ? RegularizationType::None
                                                : attrs.regularization_type;
  lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
    const AdamArgs args{floats(at[p]),         floats(at[gradient]),
                        floats(at[m]),         floats(at[v]),
                        address_if(at, v_max), floats(at[rates]),
                        address_if(at, scale)};
    return [=] {
      with_regularization(regularization,
                          [&](auto type) { adam<type()>(attrs, args, n); });
    };
  });
}

void lower_rmsprop_update(NodeLowering& lowering) {
  const auto attrs = lowering.attrs<RmspropUpdateAttrs>();
  const std::int64_t n = lowering.input_shape(0).num_elements();
  const int p = lowering.mutate(0), gradient = lowering.read(1);
  const int square = lowering.mutate(2), momentum = mutate_if(lowering, 3);
  const int average = mutate_if(lowering, 4);
  const int rates = lowering.read(5), scale = read_if(lowering, 6);
  lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
    const RmspropArgs args{floats(at[p]),           floats(at[gradient]),
                           floats(at[square]),      address_if(at, momentum),
                           address_if(at, average), floats(at[rates]),
                           address_if(at, scale)};
    return [=] {
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
    };
  });
}

void lower_clip_scale(NodeLowering& lowering) {
  const auto attrs = lowering.attrs<ClipScaleAttrs>();
  const int num_inputs = static_cast<int>(lowering.node().inputs.size());
  for (int i = 0; i < num_inputs; ++i) lowering.read(i);
  const int result = lowering.write(0);
  lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
    const float* rates = floats(at[0]);
    std::vector<const float*> squares;
    for (int i = 1; i < num_inputs; ++i) squares.push_back(floats(at[i]));
    return [=, scale = floats(at[result])] {
      double sum = 0;
      for (const float* square : squares) sum += *square;
      const float norm = attrs.custom_norm != 0
                             ? attrs.custom_norm
                             : static_cast<float>(std::sqrt(sum));
      const bool is_within = norm <= attrs.maximum_norm;  // NaN is not
      const bool clips = rates[kClips] != 0 && !is_within;
      *scale = clips ? attrs.maximum_norm / norm : 1.0f;
    };
  });
}

void lower_accumulate_gradient(NodeLowering& lowering) {
  const std::int64_t n = lowering.input_shape(0).num_elements();
  const int sum = lowering.mutate(0), gradient = lowering.read(1);
  const int factor = lowering.read(2);
  lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
    return [=, sum = floats(at[sum]), gradient = floats(at[gradient]),
            factor = floats(at[factor])] {
      // An accumulator that starts over may hold anything, NaN included.
      if (const float keep = *factor; keep != 0) {
        for_each_element(
            n, [=](std::int64_t i) { sum[i] = keep * sum[i] + gradient[i]; });
      } else {
        for_each_element(n, [=](std::int64_t i) { sum[i] = gradient[i]; });
      }
    };
  });
}

}  // namespace traingraph::cpu
