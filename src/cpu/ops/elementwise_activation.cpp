// SPDX-License-Identifier: MIT
// The activation family and its gradients: the engine's code where it has some,
// else plain loops.
#include "cpu/engine/activation.h"
#include "cpu/ops/elementwise_lowering.h"
#include "cpu/ops/elementwise_rows.h"
#include "formulas/activation.h"

namespace traingraph::cpu {
namespace {

using namespace formulas::functions;
using enum ActivationType;

/// Calls use(function, grain) with the function that `attrs` names.
template <class Use>
void with_function(const ActivationAttrs& attrs, Use use) {
  const auto [type, a, b, c] = attrs;
  switch (type) {
    case ReLU:
      return use(Relu{a}, kCheapGrain);
    case Linear:
      return use(LinearMap{a, b}, kCheapGrain);
    case HardSigmoid:
      return use(HardSigmoidMap{a, b}, kCheapGrain);
    case Sigmoid:
      return use(SigmoidMap{}, kCostlyGrain);
    case Tanh:
      return use(ScaledTanh{a, b}, kCostlyGrain);
    case Absolute:
      return use(AbsoluteValue{}, kCheapGrain);
    case SoftPlus:
      return use(ScaledSoftPlus{a, b}, kCostlyGrain);
    case LogSigmoid:
      return use(ScaledSoftPlus{-1, -1}, kCostlyGrain);
    case SoftSign:
      return use(SoftSignMap{}, kCheapGrain);
    case ReLUN:
      return use(ReluN{a, b}, kCheapGrain);
    case ELU:
      return use(ScaledElu{1, a, 1}, kCostlyGrain);
    case SELU:
      return use(ScaledElu{1.0507009873554805f, 1.6732632423543772f, 1},
                 kCostlyGrain);
    case CELU:
      return use(ScaledElu{1, a, a}, kCostlyGrain);
    case HardShrink:
      return use(HardShrinkMap{a}, kCheapGrain);
    case SoftShrink:
      return use(SoftShrinkMap{a}, kCheapGrain);
    case TanhShrink:
      return use(TanhShrinkMap{}, kCostlyGrain);
    case Threshold:
      return use(ThresholdMap{a, b}, kCheapGrain);
    case HardSwish:
      return use(HardSwishMap{}, kCheapGrain);
    case Clamp:
      return use(ClampMap{a, b}, kCheapGrain);
    case None:
      return use(Identity{}, kCheapGrain);
    case GELU:
      return use(GeluMap{}, kCostlyGrain);
    case GELUTanh:
      return use(GeluTanhMap{}, kCostlyGrain);
    case SiLU:
      return use(SiluMap{}, kCostlyGrain);
    case Mish:
      return use(MishMap{}, kCostlyGrain);
  }
  throw InternalError(ErrorInfo{.op = "activation",
                                .what = "no loop for this type",
                                .got = std::string(to_string(type))});
}

/// Calls `use` with the function for elements of 16 bits.
template <class Use>
void with_stored_function(const ActivationAttrs& attrs, Use use) {
  switch (attrs.type) {
    case GELU:
      return use(StoredGelu{}, kCostlyGrain);
    case GELUTanh:
      return use(StoredGeluTanh{}, kCostlyGrain);
    case Tanh:
      return use(StoredTanh{attrs.a, attrs.b}, kCostlyGrain);
    default:
      return with_function(attrs, use);
  }
}

template <class Function>
struct ValueOf {
  Function function;
  float operator()(float x) const { return function.value(x); }
};

template <class Function>
struct TimesSlopeOf {
  Function function;
  float operator()(float gradient, float x) const {
    return gradient * function.slope(x);
  }
};

bool is_float32(const UnitBuilder& unit) {
  return unit.result_desc().data_type == DataType::Float32;
}

}  // namespace

void lower_activation(UnitBuilder& unit) {
  const auto& attrs = unit.attrs<ActivationAttrs>();
  const auto lower = [&](auto function, std::int64_t grain) {
    lower_map(unit, grain, ValueOf{function});
  };
  if (!is_float32(unit)) return with_stored_function(attrs, lower);
  if (lower_engine_activation(unit)) return;
  with_function(attrs, lower);
}

namespace {

/// Lowers the gradient of tanh and the sigmoid, which follows from their
/// result.
void lower_gradient_of_result(UnitBuilder& unit, const Layout& layout) {
  const auto lower = [&](auto slope) {
    lower_zip(unit, kCheapGrain, layout,
              [=](float gradient, float y) { return gradient * slope(y); });
  };
  if (unit.attrs<ActivationAttrs>().type == Tanh) {
    return lower([](float y) { return 1 - y * y; });
  }
  lower([](float y) { return y * (1 - y); });
}

}  // namespace

void lower_activation_gradient(UnitBuilder& unit) {
  const auto& attrs = unit.attrs<ActivationAttrs>();
  const bool is_exact = is_float32(unit);
  if (is_exact && lower_engine_activation_gradient(unit)) return;
  // A padded gradient is zero and so is its product with any slope.
  const auto layout = common_layout(unit, 1, 0, /*keeps_zero=*/true);
  if (unit.fusion().reads_activated(1)) {
    return lower_gradient_of_result(unit, layout);
  }
  const auto lower = [&](auto function, std::int64_t grain) {
    lower_zip(unit, grain, layout, TimesSlopeOf{function});
  };
  is_exact ? with_function(attrs, lower) : with_stored_function(attrs, lower);
}

RowFunction activation_row(const ActivationAttrs& attrs) {
  RowFunction row;
  with_function(attrs, [&](auto function, std::int64_t grain) {
    row = row_of_map(ValueOf{function}, grain);
  });
  return row;
}

RowFunction activation_gradient_row(const ActivationAttrs& attrs) {
  RowFunction row;
  with_function(attrs, [&](auto function, std::int64_t grain) {
    row = row_of_zip(TimesSlopeOf{function}, grain);
  });
  return row;
}

void activate_row(const ActivationAttrs& attrs, const float* x, float* y,
                  std::int64_t n) {
  with_function(attrs, [&](auto function, std::int64_t) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = function.value(x[i]);
  });
}

void slope_of_row(const ActivationAttrs& attrs, const float* x, float* slope,
                  std::int64_t n) {
  with_function(attrs, [&](auto function, std::int64_t) {
    for (std::int64_t i = 0; i < n; ++i) slope[i] = function.slope(x[i]);
  });
}

}  // namespace traingraph::cpu
