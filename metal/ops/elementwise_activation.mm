// SPDX-License-Identifier: MIT
// The activation family. Slopes at kinks are those of the CPU kernels, hence
// comparisons instead of MPSGraph's gradient ops. Both sides of a select are
// computed, so neither may overflow.
#include <numbers>

#import "metal/ops/elementwise_activation.h"

namespace traingraph::metal {
namespace {

using enum ActivationType;

constexpr double kSeluScale = 1.0507009873554805;
constexpr double kSeluAlpha = 1.6732632423543772;
constexpr double kGeluCubic = 0.044715;
// sqrt(2 / pi) and 1 / sqrt(2 pi).
constexpr double kGeluScale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
constexpr double kNormalScale = std::numbers::inv_sqrtpi / std::numbers::sqrt2;

/// a x for negative x, but 0 for a = 0 even where x is infinite. MPSGraph's own
/// ReLU makes 0 of NaN.
T leaky(GraphBuilder& b, T x, double a) {
  if (a == 0) return b.max(x, 0.0);
  return b.select(b.less(x, 0.0), b.mul(x, a), x);
}

T clamp(GraphBuilder& b, T x, double low, double high) {
  return b.min(b.max(x, low), high);
}

/// x or alpha * (e^(x / width) - 1): ELU, SELU, CELU.
T elu(GraphBuilder& b, T x, double alpha, double width) {
  T decay = b.exp(b.div(b.min(x, 0.0), width));
  return b.select(b.greater(x, 0.0), x, b.mul(b.add(decay, -1.0), alpha));
}

T elu_slope(GraphBuilder& b, T x, double alpha, double width) {
  T decay = b.exp(b.div(b.min(x, 0.0), width));
  return b.select(b.greater(x, 0.0), 1.0, b.mul(decay, alpha / width));
}

/// Distribution function and density of the normal distribution.
T normal_share(GraphBuilder& b, T x) {
  return b.mul(b.add(b.erf(b.div(x, std::numbers::sqrt2)), 1.0), 0.5);
}

T normal_density(GraphBuilder& b, T x) {
  return b.mul(b.exp(b.mul(b.square(x), -0.5)), kNormalScale);
}

/// tanh(scale * (x + cubic * x^3)), which GELUTanh has in place of erf.
T gelu_tanh(GraphBuilder& b, T x) {
  T factor = b.add(b.mul(b.square(x), kGeluScale * kGeluCubic), kGeluScale);
  return b.tanh(b.mul(x, factor));
}

T gelu_tanh_slope(GraphBuilder& b, T x) {
  T t = gelu_tanh(b, x);
  T inner = b.add(b.mul(b.square(x), 3 * kGeluScale * kGeluCubic), kGeluScale);
  T bend = b.mul(b.sub(1.0, b.square(t)), b.mul(x, inner));
  return b.mul(b.add(b.add(t, 1.0), bend), 0.5);
}

DataType type_of(const GraphBuilder& b) { return b.compute_type(); }

/// Below this e^x is 0, and with it x e^x, also in the limit.
constexpr double kExpEnd = -104;
/// Above this tanh(ln(1 + e^x)) is 1 in float32; e^2x does not overflow.
constexpr double kMishEnd = 20;

/// tanh(ln(1 + e^x)) = n / (n + 2) with n = e^x (e^x + 2).
T mish_factor(GraphBuilder& b, T x) {
  T e = b.exp(b.min(x, kMishEnd));
  T n = b.mul(e, b.add(e, 2.0));
  return b.div(n, b.add(n, 2.0));
}

T mish_slope(GraphBuilder& b, T x) {
  x = clamp(b, x, kExpEnd, -kExpEnd);
  T e = b.exp(b.min(x, kMishEnd));
  T d = b.add(b.mul(e, b.add(e, 2.0)), 2.0);
  T bend = b.div(b.div(b.mul(b.mul(e, b.add(e, 1.0)), 4.0), d), d);
  return b.add(mish_factor(b, x), b.mul(x, bend));
}

T silu_slope(GraphBuilder& b, T x) {
  x = clamp(b, x, kExpEnd, -kExpEnd);
  T bend = b.add(b.mul(x, b.sigmoid(b.neg(x))), 1.0);
  return b.mul(b.sigmoid(x), bend);
}

/// 1 or `negative`.
T step(GraphBuilder& b, T x, double negative) {
  return b.select(b.greater(x, 0.0), 1.0, negative, type_of(b));
}

/// high inside the condition, 0 outside.
T gate(GraphBuilder& b, T condition, double high = 1) {
  return b.select(condition, high, 0.0, type_of(b));
}

}  // namespace

T activation_value(GraphBuilder& b, const ActivationAttrs& attrs, T x) {
  const double alpha = attrs.a, beta = attrs.b;
  switch (attrs.type) {
    case None:
      break;
    case ReLU:
      return leaky(b, x, alpha);
    case Linear:
      return b.add(b.mul(x, alpha), beta);
    case Sigmoid:
      return b.sigmoid(x);
    case HardSigmoid:
      return clamp(b, b.add(b.mul(x, alpha), beta), 0, 1);
    case Tanh:
      return b.mul(b.tanh(b.mul(x, beta)), alpha);
    case Absolute:
      return b.abs(x);
    case SoftPlus:
      return b.mul(b.softplus(b.mul(x, beta)), alpha);
    case SoftSign:
      return b.div(x, b.add(b.abs(x), 1.0));
    case ELU:
      return elu(b, x, alpha, 1);
    case ReLUN:
      return b.min(leaky(b, x, alpha), beta);
    case LogSigmoid:
      return b.neg(b.softplus(b.neg(x)));
    case SELU:
      return b.mul(elu(b, x, kSeluAlpha, 1), kSeluScale);
    case CELU:
      return elu(b, x, alpha, alpha);
    case HardShrink:
      return b.select(b.greater(b.abs(x), alpha), x, 0.0);
    case SoftShrink:
      return b.select(b.greater(x, alpha), b.add(x, -alpha),
                      b.select(b.less(x, -alpha), b.add(x, alpha), 0.0));
    case TanhShrink:
      return b.sub(x, b.tanh(x));
    case Threshold:
      return b.select(b.greater(x, alpha), x, beta);
    case GELU:
      return b.mul(x, normal_share(b, x));
    case HardSwish:
      return b.div(b.mul(x, clamp(b, b.add(x, 3.0), 0, 6)), 6.0);
    case Clamp:
      return clamp(b, x, alpha, beta);
    case GELUTanh:
      return b.mul(x, b.mul(b.add(gelu_tanh(b, x), 1.0), 0.5));
    case SiLU:
      return b.mul(b.max(x, kExpEnd), b.sigmoid(x));
    case Mish:
      return b.mul(b.max(x, kExpEnd), mish_factor(b, x));
  }
  return x;
}

T activation_slope(GraphBuilder& b, const ActivationAttrs& attrs, T x) {
  const double alpha = attrs.a, beta = attrs.b;
  switch (attrs.type) {
    case None:
      break;
    case ReLU:
      return step(b, x, alpha);
    case Linear:
      return b.scalar(alpha, type_of(b));
    case Sigmoid: {
      T y = b.sigmoid(x);
      return b.mul(y, b.sub(1.0, y));
    }
    case HardSigmoid: {
      T y = b.add(b.mul(x, alpha), beta);
      return gate(b, b.both(b.greater(y, 0.0), b.less(y, 1.0)), alpha);
    }
    case Tanh: {
      T t = b.tanh(b.mul(x, beta));
      return b.mul(b.sub(1.0, b.square(t)), alpha * beta);
    }
    case Absolute:
      return b.sign(x);
    case SoftPlus:
      return b.mul(b.sigmoid(b.mul(x, beta)), alpha * beta);
    case SoftSign:
      return b.div(1.0, b.square(b.add(b.abs(x), 1.0)));
    case ELU:
      return elu_slope(b, x, alpha, 1);
    case ReLUN:
      return b.select(b.at_least(leaky(b, x, alpha), beta), 0.0,
                      step(b, x, alpha));
    case LogSigmoid:
      return b.sigmoid(b.neg(x));
    case SELU:
      return b.mul(elu_slope(b, x, kSeluAlpha, 1), kSeluScale);
    case CELU:
      return elu_slope(b, x, alpha, alpha);
    case HardShrink:
      return gate(b, b.greater(b.abs(x), alpha));
    case SoftShrink:
      return b.select(b.greater(x, alpha), 1.0, gate(b, b.less(x, -alpha)));
    case TanhShrink:
      return b.square(b.tanh(x));
    case Threshold:
      return gate(b, b.greater(x, alpha));
    case GELU:
      return b.add(normal_share(b, x), b.mul(x, normal_density(b, x)));
    case HardSwish: {
      T middle = b.div(b.add(b.mul(x, 2.0), 3.0), 6.0);
      T upper = b.select(b.at_least(x, 3.0), 1.0, middle);
      return b.select(b.at_least(b.neg(x), 3.0), 0.0, upper);
    }
    case Clamp:
      return b.select(b.greater(x, beta), 0.0, gate(b, b.at_least(x, alpha)));
    case GELUTanh:
      return gelu_tanh_slope(b, x);
    case SiLU:
      return silu_slope(b, x);
    case Mish:
      return mish_slope(b, x);
  }
  return b.scalar(1, type_of(b));
}

void lower_activation(GraphBuilder& b) {
  b.set(activation_value(b, b.attrs<ActivationAttrs>(), b.input(0)));
}

void lower_activation_gradient(GraphBuilder& b) {
  const auto& attrs = b.attrs<ActivationAttrs>();
  b.set(b.mul(b.input(0), activation_slope(b, attrs, b.input(1))));
}

}  // namespace traingraph::metal
