// SPDX-License-Identifier: MIT
// The functions that the general loops compute by the C library's, one float
// after the other, in forms that vectorise.
#include "cpu/engine/activation.h"

#include "cpu/cblas/gelu.h"
#include "cpu/ops/elementwise_lowering.h"
#include "formulas/activation.h"
#include "lowering/fusion_search.h"

namespace traingraph::cpu {
namespace {

using namespace formulas::functions;
using enum ActivationType;

/// Calls use(function) where there is one.
template <class Use>
bool with_function(const ActivationAttrs& attrs, Use use) {
  switch (attrs.type) {
    case GELU:
      use(ExactGelu{});
      return true;
    case GELUTanh:
      use(StoredGeluTanh{});
      return true;
    case Tanh:
      use(StoredTanh{attrs.a, attrs.b});
      return true;
    default:
      return false;
  }
}

}  // namespace

bool has_engine_activation(const ActivationAttrs& attrs) {
  return with_function(attrs, [](auto) {});
}

bool lower_engine_activation(UnitBuilder& unit) {
  return with_function(unit.attrs<ActivationAttrs>(), [&](auto function) {
    lower_map(unit, kCostlyGrain,
              [function](float x) { return function.value(x); });
  });
}

bool lower_engine_activation_gradient(UnitBuilder& unit) {
  if (unit.fusion().reads_activated(1)) return false;
  return with_function(unit.attrs<ActivationAttrs>(), [&](auto function) {
    const Layout layout = common_layout(unit, 1, 0, /*keeps_zero=*/true);
    lower_zip(unit, kCostlyGrain, layout, [function](float gradient, float x) {
      return gradient * function.slope(x);
    });
  });
}

bool lower_engine_tanh(UnitBuilder& unit) {
  lower_map(unit, kCostlyGrain, [](float x) { return fast_tanh(x); });
  return true;
}

}  // namespace traingraph::cpu
