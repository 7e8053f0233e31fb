// SPDX-License-Identifier: MIT
#include "resample.h"

#include <algorithm>
#include <cmath>

#include "picture.h"

namespace emulator::mpsnn {
namespace {

/// Interpolates between the two samples around a position; ends are repeated.
std::vector<Tap> between(double position, std::int64_t length) {
  const double last = static_cast<double>(length - 1);
  const double at = std::clamp(position, 0.0, last);
  const auto low = static_cast<std::int64_t>(std::floor(at));
  const double share = at - static_cast<double>(low);
  if (share == 0) return {{low, 1}};
  return {{low, 1 - share}, {low + 1, share}};
}

std::int64_t size_of(const AxisTaps& taps) {
  return static_cast<std::int64_t>(taps.size());
}

}  // namespace

AxisTaps nearest_taps(std::int64_t source, std::int64_t factor) {
  AxisTaps taps;
  for (std::int64_t i = 0; i < source * factor; ++i) {
    taps.push_back({{i / factor, 1}});
  }
  return taps;
}

AxisTaps linear_taps(std::int64_t source, std::int64_t result,
                     bool aligns_corners) {
  AxisTaps taps;
  for (std::int64_t i = 0; i < result; ++i) {
    double position = 0;
    if (!aligns_corners) {
      // One division: the same position whatever the order of the factors.
      position = static_cast<double>((2 * i + 1) * source - result) /
                 static_cast<double>(2 * result);
    } else if (result > 1) {
      position = static_cast<double>(i * (source - 1)) /
                 static_cast<double>(result - 1);
    }
    taps.push_back(between(position, source));
  }
  return taps;
}

AxisTaps transformed_taps(std::int64_t source, std::int64_t result,
                          double scale, double translation) {
  AxisTaps taps;
  for (std::int64_t i = 0; i < result; ++i) {
    const double centre = static_cast<double>(i) + 0.5;
    taps.push_back(between((centre - translation) / scale - 0.5, source));
  }
  return taps;
}

Picture resample(const Picture& source, const AxisTaps& rows,
                 const AxisTaps& columns) {
  const Extent result{source.extent.channels, size_of(rows), size_of(columns)};
  return picture_of(result, [&](auto c, auto y, auto x) {
    double sum = 0;
    for (const Tap& row : rows[static_cast<std::size_t>(y)]) {
      for (const Tap& column : columns[static_cast<std::size_t>(x)]) {
        sum += row.weight * column.weight *
               source.at(c, row.sample, column.sample);
      }
    }
    return sum;
  });
}

Picture resample_gradient(const Picture& gradient, const Extent& source,
                          const AxisTaps& rows, const AxisTaps& columns) {
  Sums result(source);
  for_each(gradient.extent, [&](auto c, auto y, auto x) {
    for (const Tap& row : rows[static_cast<std::size_t>(y)]) {
      for (const Tap& column : columns[static_cast<std::size_t>(x)]) {
        result.at(c, row.sample, column.sample) +=
            row.weight * column.weight * gradient.at(c, y, x);
      }
    }
  });
  return result.rounded();
}

}  // namespace emulator::mpsnn
