// SPDX-License-Identifier: MIT
#include "pooling.h"

#include <cmath>
#include <limits>

#include "index.h"

namespace emulator {
namespace {

using Inputs = const std::vector<const Array*>&;
using Results = std::vector<Array>&;

/// Calls visit(result offset, source offsets of its window) for every window.
template <class Visit>
void for_each_window(const Windows& windows, Visit visit) {
  Dims source, result, kernel;
  for (const Window& window : windows) {
    source.push_back(window.source);
    result.push_back(window.result);
    kernel.push_back(window.kernel);
  }
  const Dims strides = strides_of(source);
  std::vector<std::int64_t> taps;
  for_each_index(result, [&](const Dims& at, std::int64_t flat) {
    taps.clear();
    for_each_index(kernel, [&](const Dims& k, std::int64_t) {
      std::int64_t offset = 0;
      for (std::size_t axis = 0; axis < 4; ++axis) {
        const Window& window = windows[axis];
        const std::int64_t position = at[axis] * window.stride - window.before +
                                      k[axis] * window.dilation;
        if (position < 0 || position >= window.source) return;
        offset += position * strides[axis];
      }
      taps.push_back(offset);
    });
    visit(flat, taps);
  });
}

/// Offset of the largest element of a window; -1 if it is all padding.
std::int64_t largest(const std::vector<double>& x,
                     const std::vector<std::int64_t>& taps) {
  std::int64_t best = taps.empty() ? -1 : taps[0];
  for (std::int64_t tap : taps) {
    if (x[tap] > x[best]) best = tap;
  }
  return best;
}

double norm(const std::vector<double>& x,
            const std::vector<std::int64_t>& taps) {
  double sum = 0;
  for (std::int64_t tap : taps) sum += x[tap] * x[tap];
  return std::sqrt(sum);
}

}  // namespace

Kernel max_pool(const Windows& windows) {
  return [=](Inputs inputs, Results results) {
    for_each_window(windows, [&](std::int64_t at, const auto& taps) {
      const std::int64_t best = largest(inputs[0]->data, taps);
      results[0].data[at] = best < 0 ? -std::numeric_limits<double>::infinity()
                                     : inputs[0]->data[best];
    });
  };
}

Kernel max_pool_gradient(const Windows& windows) {
  return [=](Inputs inputs, Results results) {
    for_each_window(windows, [&](std::int64_t at, const auto& taps) {
      const std::int64_t best = largest(inputs[1]->data, taps);
      if (best >= 0) results[0].data[best] += inputs[0]->data[at];
    });
  };
}

Kernel l2_norm_pool(const Windows& windows) {
  return [=](Inputs inputs, Results results) {
    for_each_window(windows, [&](std::int64_t at, const auto& taps) {
      results[0].data[at] = norm(inputs[0]->data, taps);
    });
  };
}

Kernel l2_norm_pool_gradient(const Windows& windows) {
  return [=](Inputs inputs, Results results) {
    const std::vector<double>& x = inputs[1]->data;
    for_each_window(windows, [&](std::int64_t at, const auto& taps) {
      const double y = norm(x, taps);
      if (y == 0) return;
      for (std::int64_t tap : taps) {
        results[0].data[tap] += inputs[0]->data[at] * x[tap] / y;
      }
    });
  };
}

}  // namespace emulator
