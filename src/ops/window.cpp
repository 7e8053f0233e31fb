// SPDX-License-Identifier: MIT
#include "ops/window.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>

namespace traingraph {
namespace {

constexpr std::array kAxisNames{"height", "width"};

template <std::size_t kSize>
void require_range(const ShapeContext& ctx, const char* attribute,
                   const std::array<std::int64_t, kSize>& values,
                   std::int64_t least) {
  const bool ok = std::ranges::all_of(values, [&](std::int64_t value) {
    return value >= least && value <= kLargestWindow;
  });
  ctx.require_attribute(
      ok, std::string(attribute) + " out of range",
      std::to_string(least) + " to " + std::to_string(kLargestWindow),
      Shape(values).to_string());
}

}  // namespace

std::int64_t window_span(const AxisWindow& window) {
  return (window.kernel - 1) * window.dilation + 1;
}

std::int64_t window_count(std::int64_t in, const AxisWindow& window,
                          AxisPadding padding) {
  const std::int64_t room =
      in + padding.before + padding.after - window_span(window);
  return room < 0 ? 0 : room / window.stride + 1;
}

AxisPadding resolve_padding(PaddingPolicy policy, std::int64_t in,
                            const AxisWindow& window,
                            std::int64_t padding_size) {
  if (policy == PaddingPolicy::Valid) return {};
  if (policy == PaddingPolicy::UsePaddingSize) {
    return {padding_size, padding_size};
  }
  const std::int64_t out = (in + window.stride - 1) / window.stride;
  const std::int64_t read = (out - 1) * window.stride + window_span(window);
  const std::int64_t total = std::max<std::int64_t>(read - in, 0);
  return {total / 2, total - total / 2};
}

TransposedAxis resolve_transposed_padding(PaddingPolicy policy, std::int64_t in,
                                          const AxisWindow& window,
                                          std::int64_t padding_size) {
  const std::int64_t full = (in - 1) * window.stride + window_span(window);
  const std::int64_t out = policy == PaddingPolicy::Same ? in * window.stride
                           : policy == PaddingPolicy::Valid
                               ? full
                               : full - 2 * padding_size;
  return {out, resolve_padding(policy, out, window, padding_size)};
}

bool has_empty_window(std::int64_t in, const AxisWindow& window,
                      AxisPadding padding) {
  const std::int64_t count = window_count(in, window, padding);
  if (count == 0) return false;
  const auto is_empty = [&](std::int64_t i) {
    const std::int64_t start = i * window.stride - padding.before;
    const std::int64_t skipped =
        start >= 0 ? 0 : (-start + window.dilation - 1) / window.dilation;
    const std::int64_t first_inside = start + skipped * window.dilation;
    return skipped >= window.kernel || first_inside >= in;
  };
  // Ends before the image: the first window does. Begins behind it: the last.
  if (is_empty(0) || is_empty(count - 1)) return true;
  // Straddles it: only if the taps are further apart than the image is long.
  // Where the first tap inside falls repeats with the dilation rate.
  if (window.dilation <= in) return false;
  const std::int64_t period =
      window.dilation / std::gcd(window.dilation, window.stride);
  for (std::int64_t i = 1; i < std::min(count - 1, period); ++i) {
    if (is_empty(i)) return true;
  }
  return false;
}

void require_window(const ShapeContext& ctx, const Window2d& window) {
  require_range(ctx, "kernel_sizes", window.kernel_sizes, 1);
  require_range(ctx, "strides", window.strides, 1);
  require_range(ctx, "dilation_rates", window.dilation_rates, 1);
  require_range(ctx, "padding", window.padding, 0);
}

Pair require_windows_fit(const ShapeContext& ctx, const Window2d& window,
                         Pair in) {
  Pair out{};
  for (int i = 0; i < 2; ++i) {
    const AxisPadding padding = window.axis_padding(i);
    out[i] = window_count(in[i], window.axis(i), padding);
    if (out[i] > 0) continue;
    const std::int64_t span = window_span(window.axis(i));
    ctx.fail_shape(
        std::string("the kernel does not fit the ") + kAxisNames[i],
        "at least " + std::to_string(span) + " padded samples for " +
            std::to_string(window.kernel_sizes[i]) + " taps at dilation " +
            std::to_string(window.dilation_rates[i]),
        std::to_string(in[i]) + " + " +
            std::to_string(padding.before + padding.after) + " of padding",
        "Use more padding or a smaller kernel, dilation rate or number of "
        "strided layers before this one.");
  }
  return out;
}

}  // namespace traingraph
