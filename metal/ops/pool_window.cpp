// SPDX-License-Identifier: MIT
#include "metal/ops/pool_window.h"

#include <algorithm>

namespace traingraph::metal {
namespace {

std::int64_t ceil_div(std::int64_t x, std::int64_t y) {
  return (x + y - 1) / y;
}

}  // namespace

TrimmedAxis trim_axis(std::int64_t in, AxisWindow window, AxisPadding padding) {
  const std::int64_t count = window_count(in, window, padding);
  const std::int64_t reach = (count - 1) * window.stride;  // of the last window
  // Taps below `first` are before the image even in the last window, taps above
  // `last` are behind it even in the first one.
  const std::int64_t first = ceil_div(
      std::max<std::int64_t>(padding.before - reach, 0), window.dilation);
  const std::int64_t last =
      std::min(window.kernel - 1, (in - 1 + padding.before) / window.dilation);
  const std::int64_t kernel = last - first + 1;
  if (kernel == window.kernel && kernel > 1) return {window, padding};

  std::int64_t before = padding.before - first * window.dilation;
  window.kernel = kernel;
  // Further than any window sees the image, should it be needed below.
  if (kernel == 1) window.dilation = in + reach;
  // Padding cannot be negative: a tap that reads nothing but padding makes up.
  if (before < 0) {
    before += window.dilation;
    ++window.kernel;
  }
  std::int64_t after = reach + window_span(window) - in - before;
  if (after < 0 && window_count(in, window, {before, 0}) != count) {
    after += window.dilation;
    ++window.kernel;
  }
  if (window.kernel == 1) window.dilation = 1;
  return {window, {before, std::max<std::int64_t>(after, 0)}};
}

Window2d trim_window(const Window2d& window, const Shape& image) {
  Window2d result;
  for (int i = 0; i < 2; ++i) {
    const auto [axis, padding] =
        trim_axis(image[2 + i], window.axis(i), window.axis_padding(i));
    result.kernel_size[i] = axis.kernel;
    result.strides[i] = axis.stride;
    result.dilation_rates[i] = axis.dilation;
    result.padding[2 * i] = padding.before;
    result.padding[2 * i + 1] = padding.after;
  }
  return result;
}

}  // namespace traingraph::metal
