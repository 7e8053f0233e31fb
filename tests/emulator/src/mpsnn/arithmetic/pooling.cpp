// SPDX-License-Identifier: MIT
#include "pooling.h"

#include <cmath>

namespace emulator::mpsnn {
namespace {

struct Tap {
  std::int64_t y, x;
};

/// The samples of a window: those inside, and how many zeros outside count.
struct Samples {
  std::vector<Tap> inside;
  std::int64_t zeros = 0;
};

/// The samples in the window of result element (i, j).
Samples samples_of(const Pooling& p, const Extent& source, std::int64_t i,
                   std::int64_t j) {
  const Window& w = p.window;
  const std::int64_t top =
      i * w.stride_y + p.placement.offset_y - w.extent_y() / 2;
  const std::int64_t left =
      j * w.stride_x + p.placement.offset_x - w.extent_x() / 2;
  Samples samples;
  for (std::int64_t v = 0; v < w.kernel_height; ++v) {
    const std::int64_t y = top + v * w.dilation_y;
    for (std::int64_t u = 0; u < w.kernel_width; ++u) {
      const std::int64_t x = left + u * w.dilation_x;
      if (y >= 0 && y < source.height && x >= 0 && x < source.width) {
        samples.inside.push_back({y, x});
      } else if (p.placement.edge_mode == EdgeMode::Zero) {
        ++samples.zeros;
      }
    }
  }
  return samples;
}

/// The largest tap is null when a zero outside is larger, or the window is
/// empty.
const Tap* largest(const Picture& source, std::int64_t c,
                   const Samples& samples) {
  const Tap* best = nullptr;
  for (const Tap& tap : samples.inside) {
    if (!best || source.at(c, tap.y, tap.x) > source.at(c, best->y, best->x)) {
      best = &tap;
    }
  }
  const bool zeros_compete = samples.zeros > 0;
  if (best && zeros_compete && source.at(c, best->y, best->x) < 0) {
    return nullptr;
  }
  return best;
}

double count_of(const Samples& samples) {
  return static_cast<double>(samples.inside.size()) +
         static_cast<double>(samples.zeros);
}

double norm(const Picture& source, std::int64_t c, const Samples& samples) {
  double sum = 0;
  for (const Tap& tap : samples.inside) {
    const double x = source.at(c, tap.y, tap.x);
    sum += x * x;
  }
  return std::sqrt(sum);
}

double value_of(const Pooling& p, const Picture& source, std::int64_t c,
                const Samples& samples) {
  if (p.type == PoolType::kL2Norm) return norm(source, c, samples);
  if (p.type == PoolType::kMax) {
    const Tap* tap = largest(source, c, samples);
    return tap ? source.at(c, tap->y, tap->x) : 0;
  }
  double sum = 0;
  for (const Tap& tap : samples.inside) sum += source.at(c, tap.y, tap.x);
  return count_of(samples) > 0 ? sum / count_of(samples) : 0;
}

void spread(const Pooling& p, double g, const Picture& source, std::int64_t c,
            const Samples& samples, Sums& result) {
  if (p.type == PoolType::kMax) {
    const Tap* tap = largest(source, c, samples);
    if (tap) result.at(c, tap->y, tap->x) += g;
    return;
  }
  const double y = norm(source, c, samples);
  for (const Tap& tap : samples.inside) {
    double& sum = result.at(c, tap.y, tap.x);
    if (p.type == PoolType::kAverage) sum += g / count_of(samples);
    // The norm has no derivative at zero.
    if (p.type == PoolType::kL2Norm && y > 0) {
      sum += g * source.at(c, tap.y, tap.x) / y;
    }
  }
}

}  // namespace

Picture pool(const Pooling& pooling, const Picture& source) {
  Extent result = pooling.placement.result;
  result.channels = source.extent.channels;
  return picture_of(result, [&](auto c, auto y, auto x) {
    return value_of(pooling, source, c,
                    samples_of(pooling, source.extent, y, x));
  });
}

Picture pool_gradient(const Pooling& pooling, const Picture& gradient,
                      const Picture& source) {
  Sums result(source.extent);
  for_each(gradient.extent, [&](auto c, auto y, auto x) {
    spread(pooling, gradient.at(c, y, x), source, c,
           samples_of(pooling, source.extent, y, x), result);
  });
  return result.rounded();
}

}  // namespace emulator::mpsnn
