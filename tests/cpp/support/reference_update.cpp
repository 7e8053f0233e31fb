// SPDX-License-Identifier: MIT
// Reference of the update family.
#include <algorithm>
#include <cmath>

#include "support/reference_families.h"

namespace traingraph::testing {
namespace {

double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }

/// The gradient after scale, clipping, rescaling and regularisation.
template <class Attrs>
std::vector<double> prepared_gradient(const Attrs& attrs,
                                      const RefTensor& parameter,
                                      const RefTensor& gradient,
                                      const RefTensor& hyperparameters,
                                      const RefTensor& scale,
                                      bool regularizes = true) {
  std::vector<double> result = gradient.data;
  for (std::size_t i = 0; i < result.size(); ++i) {
    double& g = result[i];
    if (scale.is_present()) g *= scale.data[0];
    if (attrs.clips_by_value && hyperparameters.data[2] != 0) {
      g = std::clamp<double>(g, attrs.gradient_clip_min,
                             attrs.gradient_clip_max);
    }
    g *= attrs.gradient_rescale;
    if (!regularizes) continue;
    const double p = parameter.data[i];
    if (attrs.regularization_type == RegularizationType::L1) {
      g += attrs.regularization_scale * sign(p);
    } else if (attrs.regularization_type == RegularizationType::L2) {
      g += attrs.regularization_scale * p;
    }
  }
  return result;
}

/// Does the scale say that the update is left out?
bool is_left_out(const RefTensors& in, std::size_t scale) {
  return scale < in.size() && in[scale].is_present() && in[scale].data[0] < 0;
}

}  // namespace

RefTensors reference_sgd_update(const SgdUpdateAttrs& attrs, RefTensors& in) {
  if (is_left_out(in, 4)) return {};
  RefTensor& parameter = in[0];
  RefTensor& momentum = in[2];
  const RefTensor& hyperparameters = in[3];
  const double rate = hyperparameters.data[0] * attrs.lr_scale;
  const double mu = attrs.momentum_scale;
  const auto gradient =
      prepared_gradient(attrs, parameter, in[1], hyperparameters, in[4]);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const double g = gradient[i];
    double& p = parameter.data[i];
    if (!momentum.is_present()) {
      p -= rate * g;
    } else if (attrs.uses_nesterov_momentum) {
      momentum.data[i] = mu * momentum.data[i] + g;
      p -= rate * (g + mu * momentum.data[i]);
    } else {
      momentum.data[i] = mu * momentum.data[i] + rate * g;
      p -= momentum.data[i];
    }
  }
  return {};
}

RefTensors reference_adam_update(const AdamUpdateAttrs& attrs, RefTensors& in) {
  if (is_left_out(in, 6)) return {};
  RefTensor& parameter = in[0];
  RefTensor& maximum_velocity = in[4];
  const RefTensor& hyperparameters = in[5];
  const double beta1 = attrs.beta1;
  const double beta2 = attrs.beta2;
  const auto gradient =
      prepared_gradient(attrs, parameter, in[1], hyperparameters, in[6],
                        /*regularizes=*/!attrs.decoupled_decay);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const double g = gradient[i];
    const double old = parameter.data[i];
    double& m = in[2].data[i];
    double& v = in[3].data[i];
    m = beta1 * m + (1 - beta1) * g;
    v = beta2 * v + (1 - beta2) * g * g;
    double used = v;
    if (attrs.uses_amsgrad) {
      double& largest = maximum_velocity.data[i];
      largest = std::max(largest, v);
      used = largest;
    }
    double& p = parameter.data[i];
    const double lr_scale = attrs.lr_scale;
    p -= hyperparameters.data[1] * lr_scale * m /
         (std::sqrt(used) + attrs.epsilon);
    if (attrs.decoupled_decay) {
      p -=
          hyperparameters.data[0] * lr_scale * attrs.regularization_scale * old;
    }
  }
  return {};
}

RefTensors reference_rmsprop_update(const RmspropUpdateAttrs& attrs,
                                    RefTensors& in) {
  if (is_left_out(in, 6)) return {};
  RefTensor& parameter = in[0];
  RefTensor& momentum = in[3];
  const RefTensor& hyperparameters = in[5];
  const double rate = hyperparameters.data[0] * attrs.lr_scale;
  const double alpha = attrs.alpha;
  const auto gradient =
      prepared_gradient(attrs, parameter, in[1], hyperparameters, in[6]);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const double g = gradient[i];
    double& n = in[2].data[i];
    n = alpha * n + (1 - alpha) * g * g;
    double variance = n;
    if (attrs.is_centered) {
      double& mean = in[4].data[i];
      mean = alpha * mean + (1 - alpha) * g;
      variance -= mean * mean;
    }
    const double step = rate * g / (std::sqrt(variance) + attrs.epsilon);
    double& p = parameter.data[i];
    if (momentum.is_present()) {
      double& velocity = momentum.data[i];
      velocity = attrs.momentum_scale * velocity - step;
      p += velocity;
    } else {
      p -= step;
    }
  }
  return {};
}

RefTensors reference_clip_scale(const ClipScaleAttrs& attrs, RefTensors& in) {
  if (in[0].data[2] == 0) return {filled({1}, 1)};
  double sum = 0;
  for (std::size_t i = 1; i < in.size(); ++i) {
    if (in[i].shape.rank() == 1) sum += in[i].data[0];  // else a gradient
  }
  const double norm =
      attrs.custom_norm != 0 ? attrs.custom_norm : std::sqrt(sum);
  const double maximum = attrs.maximum_norm;
  return {filled({1}, norm <= maximum ? 1 : maximum / norm)};  // NaN stays
}

RefTensors reference_update_loss_scale(const LossScaleAttrs& attrs,
                                       RefTensors& in) {
  bool is_finite = true;
  for (std::size_t i = 2; i < in.size(); ++i) {
    is_finite = is_finite && std::isfinite(in[i].data[0]);
  }
  auto& state = in[0].data;
  if (is_finite) {
    state[1] += 1;
    if (state[1] >= static_cast<double>(attrs.interval)) {
      state[0] = std::min(2 * state[0], std::exp2(24));
      state[1] = 0;
    }
  } else {
    state[0] = std::max(state[0] / 2, std::exp2(-24));
    state[1] = 0;
    state[2] += 1;
  }
  RefTensor hyperparameters = in[1];
  const double step = std::max(1.0, hyperparameters.data[3] - state[2]);
  if (state[2] > 0 && (attrs.beta1 > 0 || attrs.beta2 > 0)) {
    hyperparameters.data[1] = hyperparameters.data[0] *
                              std::sqrt(1 - std::pow(attrs.beta2, step)) /
                              (1 - std::pow(attrs.beta1, step));
  }
  return {filled({1}, is_finite ? 1 : -1), hyperparameters};
}

RefTensors reference_accumulate_gradient(const NoAttrs&, RefTensors& in) {
  const double keep = in[2].data[0], add = in[2].data[1];
  for (std::size_t i = 0; i < in[0].data.size(); ++i) {
    // Keeping 0 overwrites whatever was there, NaN too.
    const double old = keep == 0 ? 0 : keep * in[0].data[i];
    in[0].data[i] = old + add * in[1].data[i];
  }
  return {};
}

}  // namespace traingraph::testing
