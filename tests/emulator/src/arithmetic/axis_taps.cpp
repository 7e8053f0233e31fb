// SPDX-License-Identifier: MIT
// The tables of linear.h: which source coordinates make a result coordinate.
#include <algorithm>
#include <cmath>

#include "linear.h"

namespace emulator {
namespace {

/// Remainder and quotient that round down.
std::int64_t floor_mod(std::int64_t a, std::int64_t b) {
  return ((a % b) + b) % b;
}
std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return (a - floor_mod(a, b)) / b;
}

std::vector<Tap> padded_taps(Padding padding, std::int64_t length,
                             std::int64_t at) {
  if (at >= 0 && at < length) return {{at}};
  switch (padding) {
    case Padding::kNone:
      return {};
    case Padding::kReflect:
      return {{at < 0 ? -at : 2 * (length - 1) - at}};
    case Padding::kSymmetric:
      return {{at < 0 ? -at - 1 : 2 * length - 1 - at}};
    case Padding::kClampToEdge:
      return {{at < 0 ? 0 : length - 1}};
    case Padding::kPeriodic:
      return {{floor_mod(at, length)}};
    case Padding::kAntiPeriodic:
      return {{floor_mod(at, length),
               floor_mod(floor_div(at, length), 2) == 0 ? 1.0 : -1.0}};
  }
  return {};
}

double sampled_position(std::int64_t from, std::int64_t to, std::int64_t at,
                        const Resampling& how) {
  const double position = static_cast<double>(at);
  if (how.align_corners) {
    return to > 1 ? position * double(from - 1) / double(to - 1) : 0;
  }
  const double scale = double(from) / double(to);
  return how.center_result ? (position + 0.5) * scale - 0.5 : position * scale;
}

double nearest(double position, Sampling sampling) {
  const double below = std::floor(position);
  const bool is_tie = position - below == 0.5;
  switch (sampling) {
    case Sampling::kRoundPreferFloor:
      return std::ceil(position - 0.5);
    case Sampling::kCeil:
      return std::ceil(position);
    case Sampling::kFloor:
      return below;
    case Sampling::kRoundToEven:
      if (is_tie) return std::fmod(below, 2) == 0 ? below : below + 1;
      break;
    case Sampling::kRoundToOdd:
      if (is_tie) return std::fmod(below, 2) == 0 ? below + 1 : below;
      break;
    default:
      break;
  }
  return std::floor(position + 0.5);
}

}  // namespace

AxisTaps same_axis(std::int64_t length) { return slice_axis(0, 1, length); }

AxisTaps slice_axis(std::int64_t start, std::int64_t step, std::int64_t count) {
  AxisTaps taps;
  for (std::int64_t i = 0; i < count; ++i) taps.push_back({{start + i * step}});
  return taps;
}

AxisTaps reversed_axis(std::int64_t length) {
  return slice_axis(length - 1, -1, length);
}

AxisTaps tiled_axis(std::int64_t length, std::int64_t times) {
  return padded_axis(Padding::kPeriodic, length, 0, length * (times - 1));
}

AxisTaps broadcast_axis(std::int64_t from, std::int64_t to) {
  return from == to ? same_axis(from) : slice_axis(0, 0, to);
}

AxisTaps padded_axis(Padding padding, std::int64_t length, std::int64_t left,
                     std::int64_t right) {
  AxisTaps taps;
  for (std::int64_t at = -left; at < length + right; ++at) {
    taps.push_back(padded_taps(padding, length, at));
  }
  return taps;
}

AxisTaps resized_axis(std::int64_t from, std::int64_t to,
                      const Resampling& how) {
  AxisTaps taps;
  for (std::int64_t at = 0; at < to; ++at) {
    const double last = static_cast<double>(from - 1);
    double position = sampled_position(from, to, at, how);
    if (how.sampling != Sampling::kBilinear) {
      position = std::clamp(nearest(position, how.sampling), 0.0, last);
      taps.push_back({{static_cast<std::int64_t>(position)}});
      continue;
    }
    position = std::clamp(position, 0.0, last);
    const auto below = static_cast<std::int64_t>(position);
    const double part = position - static_cast<double>(below);
    if (part == 0) {
      taps.push_back({{below}});
    } else {
      taps.push_back({{below, 1 - part}, {below + 1, part}});
    }
  }
  return taps;
}

AxisTaps averaged_axis(const Window& window, bool counts_padding) {
  AxisTaps taps(window.result);
  for (std::int64_t at = 0; at < window.result; ++at) {
    for (std::int64_t k = 0; k < window.kernel; ++k) {
      const std::int64_t source =
          at * window.stride - window.before + k * window.dilation;
      if (source >= 0 && source < window.source) taps[at].push_back({source});
    }
    const auto count = counts_padding ? window.kernel : std::ssize(taps[at]);
    for (Tap& tap : taps[at]) tap.weight = 1.0 / static_cast<double>(count);
  }
  return taps;
}

}  // namespace emulator
