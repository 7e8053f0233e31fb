// SPDX-License-Identifier: MIT
// What each optimizer does to one element: step(gradient, parameter, slots...).
// Loops over all of a parameter and over some of its rows use the same steps,
// and so give the same bits. Only float32 here: a gradient is upcast before.
#pragma once

#include <array>
#include <cmath>
#include <limits>
#include <tuple>
#include <type_traits>

#include "traingraph/op_attrs.h"

namespace traingraph::cpu {

/// Entries of the hyperparameters tensor.
enum { kLearningRate, kCorrectedRate, kClips, kTimeStep, kNumHyperparameters };

inline constexpr float kMinLossScale = 0x1p-24f, kMaxLossScale = 0x1p24f;

/// What every update does to the raw gradient first. Its members are fixed for
/// one run, so that loops over operator() vectorise.
template <RegularizationType kRegularization>
struct Preparation {
  float scale, clip_min, clip_max, rescale, strength;

  template <class Attrs>
  Preparation(const Attrs& attrs, const float* hyperparameters,
              const float* scale)
      : scale(scale ? *scale : 1.0f),
        rescale(attrs.gradient_rescale),
        strength(attrs.regularization_scale) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const bool clips = attrs.clips_by_value && hyperparameters[kClips] != 0;
    clip_min = clips ? attrs.gradient_clip_min : -kInfinity;
    clip_max = clips ? attrs.gradient_clip_max : kInfinity;
  }

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

/// Each step is made of attributes, the hyperparameters of one update, and the
/// factor of clipping by norm, which may be null. kSlots names the inputs it
/// changes, kHyperparameters that of the hyperparameters; the next one is the
/// factor.
template <RegularizationType kRegularization>
struct SgdStep {
  using Attrs = SgdUpdateAttrs;
  static constexpr std::array<int, 0> kSlots{};
  static constexpr int kHyperparameters = 3;

  Preparation<kRegularization> prepared;
  float rate;

  SgdStep(const Attrs& attrs, const float* hyperparameters, const float* scale)
      : prepared(attrs, hyperparameters, scale),
        rate(hyperparameters[kLearningRate] * attrs.lr_scale) {}
  void operator()(float gradient, float& p) const {
    p -= rate * prepared(gradient, p);
  }
};

template <RegularizationType kRegularization, bool kNesterov>
struct MomentumStep {
  using Attrs = SgdUpdateAttrs;
  static constexpr std::array<int, 1> kSlots{2};
  static constexpr int kHyperparameters = 3;

  Preparation<kRegularization> prepared;
  float rate, mu;

  MomentumStep(const Attrs& attrs, const float* hyperparameters,
               const float* scale)
      : prepared(attrs, hyperparameters, scale),
        rate(hyperparameters[kLearningRate] * attrs.lr_scale),
        mu(attrs.momentum_scale) {}
  void operator()(float gradient, float& p, float& m) const {
    const float g = prepared(gradient, p);
    if constexpr (kNesterov) {
      m = mu * m + g;
      p -= rate * (g + mu * m);
    } else {
      m = mu * m + rate * g;
      p -= m;
    }
  }
};

template <RegularizationType kRegularization, bool kAmsgrad>
struct AdamStep {
  using Attrs = AdamUpdateAttrs;
  static constexpr auto kSlots = [] {
    if constexpr (kAmsgrad) {
      return std::array{2, 3, 4};
    } else {
      return std::array{2, 3};
    }
  }();
  static constexpr int kHyperparameters = 5;

  Preparation<kRegularization> prepared;
  float rate, decay, beta1, beta2, rest1, rest2, epsilon;

  AdamStep(const Attrs& attrs, const float* hyperparameters, const float* scale)
      : prepared(attrs, hyperparameters, scale),
        rate(hyperparameters[kCorrectedRate] * attrs.lr_scale),
        decay(attrs.decoupled_decay
                  ? hyperparameters[kLearningRate] * attrs.lr_scale *
                        attrs.regularization_scale
                  : 0.0f),
        beta1(attrs.beta1),
        beta2(attrs.beta2),
        rest1(1 - beta1),
        rest2(1 - beta2),
        epsilon(attrs.epsilon) {}
  /// `v_max` is there with AMSGrad.
  template <class... Maximum>
  void operator()(float gradient, float& p, float& m, float& v,
                  Maximum&... v_max) const {
    const float g = prepared(gradient, p);
    m = beta1 * m + rest1 * g;
    v = beta2 * v + rest2 * (g * g);
    ((v_max = v_max > v ? v_max : v), ...);
    const float& second = std::get<sizeof...(v_max)>(std::tie(v, v_max...));
    p -= rate * m / (std::sqrt(second) + epsilon) + decay * p;
  }
};

template <RegularizationType kRegularization, bool kCentered, bool kMomentum>
struct RmspropStep {
  using Attrs = RmspropUpdateAttrs;
  static constexpr auto kSlots = [] {
    if constexpr (kCentered && kMomentum) {
      return std::array{2, 3, 4};
    } else if constexpr (kCentered) {
      return std::array{2, 4};
    } else if constexpr (kMomentum) {
      return std::array{2, 3};
    } else {
      return std::array{2};
    }
  }();
  static constexpr int kHyperparameters = 5;

  Preparation<kRegularization> prepared;
  float rate, mu, alpha, rest, epsilon;

  RmspropStep(const Attrs& attrs, const float* hyperparameters,
              const float* scale)
      : prepared(attrs, hyperparameters, scale),
        rate(hyperparameters[kLearningRate] * attrs.lr_scale),
        mu(attrs.momentum_scale),
        alpha(attrs.alpha),
        rest(1 - alpha),
        epsilon(attrs.epsilon) {}
  /// `more`: the momentum, if there is one, and the average, if centered.
  template <class... More>
  void operator()(float gradient, float& p, float& square,
                  More&... more) const {
    const auto others = std::tie(more...);
    const float g = prepared(gradient, p);
    square = alpha * square + rest * (g * g);
    float variance = square;
    if constexpr (kCentered) {
      float& average = std::get<kMomentum ? 1 : 0>(others);
      average = alpha * average + rest * g;
      variance -= average * average;
      // Rounding may push a variance of nothing below zero.
      variance = variance < 0 ? 0 : variance;
    }
    const float step = rate * g / (std::sqrt(variance) + epsilon);
    if constexpr (kMomentum) {
      float& momentum = std::get<0>(others);
      momentum = mu * momentum - step;
      p += momentum;
    } else {
      p -= step;
    }
  }
};

/// Calls use(std::integral_constant) with the type of regularisation.
template <class Use>
void with_regularization(RegularizationType type, Use&& use) {
  using enum RegularizationType;
  switch (type) {
    case L1:
      return use(std::integral_constant<RegularizationType, L1>{});
    case L2:
      return use(std::integral_constant<RegularizationType, L2>{});
    case None:
      return use(std::integral_constant<RegularizationType, None>{});
  }
}

/// Calls use(std::type_identity<Step>) with the step of an update that has a
/// momentum slot or not.
template <class Use>
void visit_step(const SgdUpdateAttrs& attrs, bool has_momentum, Use&& use) {
  with_regularization(attrs.regularization_type, [&](auto type) {
    if (!has_momentum) {
      use(std::type_identity<SgdStep<type()>>{});
    } else if (attrs.uses_nesterov_momentum) {
      use(std::type_identity<MomentumStep<type(), true>>{});
    } else {
      use(std::type_identity<MomentumStep<type(), false>>{});
    }
  });
}

template <class Use>
void visit_step(const AdamUpdateAttrs& attrs, bool /*has_momentum*/,
                Use&& use) {
  const RegularizationType regularization = attrs.decoupled_decay
                                                ? RegularizationType::None
                                                : attrs.regularization_type;
  with_regularization(regularization, [&](auto type) {
    if (attrs.uses_amsgrad) {
      use(std::type_identity<AdamStep<type(), true>>{});
    } else {
      use(std::type_identity<AdamStep<type(), false>>{});
    }
  });
}

template <class Use>
void visit_step(const RmspropUpdateAttrs& attrs, bool has_momentum, Use&& use) {
  with_regularization(attrs.regularization_type, [&](auto type) {
    if (attrs.is_centered && has_momentum) {
      use(std::type_identity<RmspropStep<type(), true, true>>{});
    } else if (attrs.is_centered) {
      use(std::type_identity<RmspropStep<type(), true, false>>{});
    } else if (has_momentum) {
      use(std::type_identity<RmspropStep<type(), false, true>>{});
    } else {
      use(std::type_identity<RmspropStep<type(), false, false>>{});
    }
  });
}

}  // namespace traingraph::cpu
