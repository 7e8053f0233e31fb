// SPDX-License-Identifier: MIT
// Linear maps that treat every axis by itself: slices, padding, tiles,
// resizing, average pooling. Such a map is a table per axis, and its gradient
// is the same table read backwards.
#pragma once

#include <vector>

#include "../array.h"

namespace emulator {

/// A source coordinate that adds to a result coordinate.
struct Tap {
  std::int64_t source;
  double weight = 1;
};
/// All taps of every result coordinate of one axis.
using AxisTaps = std::vector<std::vector<Tap>>;

/// Result elements without any tap are `otherwise`.
Kernel linear(std::vector<AxisTaps> axes, double otherwise = 0);

/// Input: the incoming gradient (further inputs do not matter). The result has
/// the shape of the forward source.
Kernel linear_gradient(std::vector<AxisTaps> axes);

AxisTaps same_axis(std::int64_t length);
AxisTaps slice_axis(std::int64_t start, std::int64_t step, std::int64_t count);
AxisTaps reversed_axis(std::int64_t length);
AxisTaps tiled_axis(std::int64_t length, std::int64_t times);
AxisTaps broadcast_axis(std::int64_t from, std::int64_t to);

enum class Padding {
  kNone,          // padded elements have no source
  kReflect,       // the edge is not repeated
  kSymmetric,     // the edge is repeated
  kClampToEdge,   // the edge goes on
  kPeriodic,      // starts anew
  kAntiPeriodic,  // starts anew with the other sign
};
AxisTaps padded_axis(Padding padding, std::int64_t length, std::int64_t left,
                     std::int64_t right);

enum class Sampling {
  kBilinear,
  kRoundPreferCeil,
  kRoundPreferFloor,
  kCeil,
  kFloor,
  kRoundToEven,
  kRoundToOdd,
};
struct Resampling {
  Sampling sampling;
  bool center_result;
  bool align_corners;
};
AxisTaps resized_axis(std::int64_t from, std::int64_t to,
                      const Resampling& how);

/// Windows along one axis of a pooling operation.
struct Window {
  std::int64_t source = 1, result = 1;  // lengths
  std::int64_t kernel = 1, stride = 1, dilation = 1, before = 0;
};
AxisTaps averaged_axis(const Window& window, bool counts_padding);

}  // namespace emulator
