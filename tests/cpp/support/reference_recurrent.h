// SPDX-License-Identifier: MIT
// What the references of recurrent ops share: activations, what is saved of
// them, and the order of steps.
#pragma once

#include <algorithm>
#include <vector>

#include "support/operand_rounding.h"
#include "support/reference_families.h"

namespace traingraph::testing {

/// ReLU's slope at its kink is that below: cells are 0 where gates are.
inline double slope(const ActivationAttrs& f, double x) {
  if (f.type == ActivationType::ReLU) return x > 0 ? 1 : f.a;
  const double step = difference_step(x);
  return (activate(f, x + step) - activate(f, x - step)) / (2 * step);
}

/// Gates whose slope follows from their value are saved as that.
inline bool saves_value(const ActivationAttrs& f) {
  using enum ActivationType;
  return f.type == None || f.type == Linear || f.type == Sigmoid ||
         f.type == HardSigmoid || (f.type == Tanh && f.a != 0) ||
         (f.type == ReLU && f.a >= 0);
}

inline double slope_of_value(const ActivationAttrs& f, double y) {
  using enum ActivationType;
  switch (f.type) {
    case Linear:
      return f.a;
    case Sigmoid:
      return y * (1 - y);
    case HardSigmoid:
      return y > 0 && y < 1 ? f.a : 0;
    case Tanh:
      return f.b * (f.a - y * y / f.a);
    case ReLU:
      return y > 0 ? 1 : f.a;
    default:
      return 1;
  }
}

/// The steps of a sample in their order.
inline std::vector<std::int64_t> steps_of(const RefTensor& lengths,
                                          std::int64_t n, std::int64_t steps,
                                          bool is_reverse) {
  std::int64_t length = steps;
  if (lengths.is_present()) {
    length = std::clamp<std::int64_t>(static_cast<std::int64_t>(lengths({n})),
                                      0, steps);
  }
  std::vector<std::int64_t> order;
  for (std::int64_t t = 0; t < length; ++t) order.push_back(t);
  if (is_reverse) std::ranges::reverse(order);
  return order;
}

inline double at_or(const RefTensor& x, const Shape& position, double value) {
  return x.is_present() ? x(position) : value;
}
inline double at_or(const RefTensor& x, RefTensor::Position position,
                    double value) {
  return x.is_present() ? x(position) : value;
}

}  // namespace traingraph::testing
