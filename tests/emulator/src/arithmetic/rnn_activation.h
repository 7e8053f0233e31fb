// SPDX-License-Identifier: MIT
// What the RNN kernels share: activations, and inputs that may be absent.
#pragma once

#include <algorithm>
#include <cmath>

#include "../array.h"

namespace emulator {

enum class RnnActivation { kNone, kRelu, kTanh, kSigmoid, kHardSigmoid };

inline double value_of(RnnActivation f, double x) {
  constexpr double kHardSlope = 0.2, kHardOffset = 0.5;  // not documented
  switch (f) {
    case RnnActivation::kNone:
      return x;
    case RnnActivation::kRelu:
      return std::max(x, 0.0);
    case RnnActivation::kTanh:
      return std::tanh(x);
    case RnnActivation::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case RnnActivation::kHardSigmoid:
      return std::clamp(kHardSlope * x + kHardOffset, 0.0, 1.0);
  }
  return x;
}

/// The derivative, from the value.
inline double slope_of(RnnActivation f, double y) {
  constexpr double kHardSlope = 0.2;
  switch (f) {
    case RnnActivation::kNone:
      return 1;
    case RnnActivation::kRelu:
      return y > 0 ? 1 : 0;
    case RnnActivation::kTanh:
      return 1 - y * y;
    case RnnActivation::kSigmoid:
      return y * (1 - y);
    case RnnActivation::kHardSigmoid:
      return y > 0 && y < 1 ? kHardSlope : 0;
  }
  return 1;
}

/// Inputs in their order; null where one is absent.
class Inputs {
 public:
  explicit Inputs(const std::vector<const Array*>& inputs) : inputs_(inputs) {}
  const Array* next(bool is_present = true) {
    return is_present ? inputs_[next_++] : nullptr;
  }

 private:
  const std::vector<const Array*>& inputs_;
  std::size_t next_ = 0;
};

inline double at_or(const Array* array, std::int64_t index, double value) {
  return array ? array->data[static_cast<std::size_t>(index)] : value;
}

}  // namespace emulator
