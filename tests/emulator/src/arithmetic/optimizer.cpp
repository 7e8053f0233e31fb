// SPDX-License-Identifier: MIT
#include "optimizer.h"

#include <algorithm>
#include <cmath>

namespace emulator {

Kernel adam(bool has_powers, bool has_maximum) {
  return [=](const std::vector<const Array*>& inputs,
             std::vector<Array>& results) {
    const auto scalar = [&](std::size_t i) { return inputs[i]->data[0]; };
    const double beta1 = scalar(1), beta2 = scalar(2), epsilon = scalar(3);
    double rate = scalar(0);
    if (has_powers) rate *= std::sqrt(1 - scalar(5)) / (1 - scalar(4));

    const std::size_t first = has_powers ? 6 : 4;
    const std::vector<double>& gradient = inputs.back()->data;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const auto old = [&](std::size_t k) {
        return inputs[first + k]->data[i];
      };
      const double g = gradient[i];
      const double m = beta1 * old(1) + (1 - beta1) * g;
      const double v = beta2 * old(2) + (1 - beta2) * g * g;
      double bound = v;
      if (has_maximum) {
        bound = std::max(old(3), v);
        results[3].data[i] = bound;
      }
      results[0].data[i] = old(0) - rate * m / (std::sqrt(bound) + epsilon);
      results[1].data[i] = m;
      results[2].data[i] = v;
    }
  };
}

}  // namespace emulator
