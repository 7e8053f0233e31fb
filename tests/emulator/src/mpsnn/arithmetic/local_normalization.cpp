// SPDX-License-Identifier: MIT
#include "local_normalization.h"

#include <algorithm>
#include <cmath>

#include "picture.h"

namespace emulator::mpsnn {
namespace {

/// [begin, end) along one axis.
struct Range {
  std::int64_t begin = 0, end = 0;
};

/// floor(k / 2) elements before, floor((k - 1) / 2) after, clipped.
Range window_at(std::int64_t at, std::int64_t kernel, std::int64_t length) {
  return {std::max<std::int64_t>(0, at - kernel / 2),
          std::min(length, at + (kernel - 1) / 2 + 1)};
}

/// The elements of one picture that an element is normalized by.
struct Box {
  Range c, y, x;

  double count() const {
    return static_cast<double>((c.end - c.begin) * (y.end - y.begin) *
                               (x.end - x.begin));
  }
};

template <class Visit>
void for_each_in(const Box& box, Visit visit) {
  for (std::int64_t c = box.c.begin; c < box.c.end; ++c) {
    for (std::int64_t y = box.y.begin; y < box.y.end; ++y) {
      for (std::int64_t x = box.x.begin; x < box.x.end; ++x) visit(c, y, x);
    }
  }
}

struct Kernel {
  std::int64_t channels = 1, height = 1, width = 1;

  Box at(const Extent& e, std::int64_t c, std::int64_t y,
         std::int64_t x) const {
    return {window_at(c, channels, e.channels), window_at(y, height, e.height),
            window_at(x, width, e.width)};
  }
  /// Windows at the edges divide by this too.
  double count() const {
    return static_cast<double>(channels * height * width);
  }
};

Kernel across_channels(const LocalNormalization& n) {
  return {n.kernel_channels, 1, 1};
}
Kernel across_pixels(const LocalNormalization& n) {
  return {1, n.kernel_height, n.kernel_width};
}

/// delta + alpha / count * sum of squares
double energy(const LocalNormalization& n, const Kernel& kernel,
              const Picture& source, const Box& box) {
  double sum = 0;
  for_each_in(box, [&](auto c, auto y, auto x) {
    sum += double(source.at(c, y, x)) * source.at(c, y, x);
  });
  return n.delta + n.alpha / kernel.count() * sum;
}

Picture by_energy(const LocalNormalization& n, const Kernel& kernel,
                  const Picture& source) {
  return picture_of(source.extent, [&](auto c, auto y, auto x) {
    const Box box = kernel.at(source.extent, c, y, x);
    return source.at(c, y, x) *
           std::pow(energy(n, kernel, source, box), -n.beta);
  });
}

/// Each element hands on to all of its window: the mirrored windows of the
/// formulas come of themselves. Apple's text omits the window's size and takes
/// the energy at the wrong element.
Picture by_energy_gradient(const LocalNormalization& n, const Kernel& kernel,
                           const Picture& gradient, const Picture& source) {
  Sums result(source.extent);
  for_each(source.extent, [&](auto c, auto y, auto x) {
    const Box box = kernel.at(source.extent, c, y, x);
    const double e = energy(n, kernel, source, box);
    const double g = gradient.at(c, y, x);
    result.at(c, y, x) += g * std::pow(e, -n.beta);
    const double shared = -2 * n.alpha * n.beta / kernel.count() * g *
                          source.at(c, y, x) * std::pow(e, -n.beta - 1);
    for_each_in(box, [&](auto k, auto i, auto j) {
      result.at(k, i, j) += shared * source.at(k, i, j);
    });
  });
  return result.rounded();
}

struct Contrast {
  double mean = 0, energy = 0;
};

/// Means are of the samples inside (edge mode Clamp; Apple does not say).
Contrast contrast(const LocalNormalization& n, const Picture& source,
                  const Box& box) {
  double sum = 0, squares = 0;
  for_each_in(box, [&](auto c, auto y, auto x) { sum += source.at(c, y, x); });
  const double mean = sum / box.count();
  for_each_in(box, [&](auto c, auto y, auto x) {
    const double distance = source.at(c, y, x) - mean;
    squares += distance * distance;
  });
  return {mean, n.delta + n.alpha * squares / box.count()};
}

}  // namespace

Picture cross_channel(const LocalNormalization& n, const Picture& source) {
  return by_energy(n, across_channels(n), source);
}
Picture cross_channel_gradient(const LocalNormalization& n,
                               const Picture& gradient, const Picture& source) {
  return by_energy_gradient(n, across_channels(n), gradient, source);
}

Picture spatial(const LocalNormalization& n, const Picture& source) {
  return by_energy(n, across_pixels(n), source);
}
Picture spatial_gradient(const LocalNormalization& n, const Picture& gradient,
                         const Picture& source) {
  return by_energy_gradient(n, across_pixels(n), gradient, source);
}

Picture local_contrast(const LocalNormalization& n, const Picture& source) {
  return picture_of(source.extent, [&](auto c, auto y, auto x) {
    const Box box = across_pixels(n).at(source.extent, c, y, x);
    const auto [mean, energy] = contrast(n, source, box);
    return n.pm + n.ps * (source.at(c, y, x) - n.p0 * mean) *
                      std::pow(energy, -n.beta);
  });
}

Picture local_contrast_gradient(const LocalNormalization& n,
                                const Picture& gradient,
                                const Picture& source) {
  Sums result(source.extent);
  for_each(source.extent, [&](auto c, auto y, auto x) {
    const Box box = across_pixels(n).at(source.extent, c, y, x);
    const auto [mean, energy] = contrast(n, source, box);
    const double scaled =
        n.ps * gradient.at(c, y, x) * std::pow(energy, -n.beta);
    const double centred = source.at(c, y, x) - n.p0 * mean;
    result.at(c, y, x) += scaled;
    for_each_in(box, [&](auto k, auto i, auto j) {
      const double by_energy =
          2 * n.alpha * n.beta * (source.at(k, i, j) - mean) * centred / energy;
      result.at(k, i, j) -= scaled / box.count() * (n.p0 + by_energy);
    });
  });
  return result.rounded();
}

}  // namespace emulator::mpsnn
