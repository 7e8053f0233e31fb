// SPDX-License-Identifier: MIT
#include "ops/window.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <utility>

#include "base/checked.h"

namespace traingraph {
namespace {

constexpr const char* kPadded = "a padded axis";
constexpr const char* kResult = "an axis of the result";

template <std::size_t kSize>
void require_range(const ShapeContext& ctx, const char* attribute,
                   const std::array<std::int64_t, kSize>& values,
                   std::int64_t least) {
  const bool ok = std::ranges::all_of(values, [&](std::int64_t value) {
    return value >= least && value <= kMaxWindow;
  });
  ctx.require_attribute(
      ok, std::string(attribute) + " out of range",
      std::to_string(least) + " to " + std::to_string(kMaxWindow),
      Shape(values).to_string());
}

/// Sum of floor((a i + b) / m) over 0 <= i < n, by Euclid's steps: windows may
/// be 2^31. Every product is below 2^63 for n, a, b and m up to 2^31.
std::int64_t floor_sum(std::int64_t n, std::int64_t m, std::int64_t a,
                       std::int64_t b) {
  std::int64_t sum = 0;
  while (n > 0) {
    sum += n * (n - 1) / 2 * (a / m) + n * (b / m);
    a %= m;
    b %= m;
    const std::int64_t last = a * n + b;
    n = last / m;
    b = last % m;
    std::swap(a, m);
    if (m == 0) break;
  }
  return sum;
}

/// For how many 0 <= i < n is (a i + b) mod m at least `least`?
std::int64_t num_remainders(std::int64_t n, std::int64_t m, std::int64_t a,
                            std::int64_t b, std::int64_t least) {
  return floor_sum(n, m, a, b + m - least) - floor_sum(n, m, a, b);
}

}  // namespace

std::int64_t window_span(const AxisWindow& window) {
  constexpr const char* kWhat = "the extent of a kernel";
  return checked_add(
      checked_multiply(window.kernel - 1, window.dilation, kWhat),
      std::int64_t{1}, kWhat);
}

std::int64_t window_count(std::int64_t in, const AxisWindow& window,
                          AxisPadding padding) {
  const std::int64_t padded = checked_add(
      checked_add(in, padding.before, kPadded), padding.after, kPadded);
  const std::int64_t span = window_span(window);
  return padded < span ? 0 : (padded - span) / window.stride + 1;
}

AxisPadding resolve_padding(PaddingPolicy policy, std::int64_t in,
                            const AxisWindow& window,
                            std::int64_t padding_size) {
  if (policy == PaddingPolicy::Valid) return {};
  if (policy == PaddingPolicy::UsePaddingSize) {
    return {padding_size, padding_size};
  }
  if (in < 1) return {};  // the op refuses it
  const std::int64_t last = (in - 1) / window.stride * window.stride;
  const std::int64_t read = checked_add(last, window_span(window), kPadded);
  const std::int64_t total = std::max<std::int64_t>(read - in, 0);
  return {total / 2, total - total / 2};
}

AxisPadding extend_padding(std::int64_t in, const AxisWindow& window,
                           AxisPadding padding) {
  const std::int64_t span = window_span(window);
  const std::int64_t front = checked_add(in, padding.before, kPadded);
  const std::int64_t room = checked_add(front, padding.after, kPadded) - span;
  if (room <= -window.stride) return padding;  // the op refuses it
  // One more than floor(room / stride) + 1, unless they fit exactly.
  const std::int64_t last = std::min((room + window.stride - 1) / window.stride,
                                     (front - 1) / window.stride) *
                            window.stride;
  return {padding.before,
          std::max(padding.after, checked_add(last, span, kPadded) - front)};
}

TransposedAxis resolve_transposed_padding(PaddingPolicy policy, std::int64_t in,
                                          const AxisWindow& window,
                                          std::int64_t padding_size) {
  const std::int64_t full =
      checked_add(checked_multiply(in - 1, window.stride, kResult),
                  window_span(window), kResult);
  const std::int64_t out =
      policy == PaddingPolicy::Same
          ? checked_multiply(in, window.stride, kResult)
      : policy == PaddingPolicy::Valid
          ? full
          : checked_add(
                full, checked_multiply(padding_size, std::int64_t{-2}, kPadded),
                kResult);
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
  const std::int64_t first = (window.stride - padding.before) % window.dilation;
  return num_remainders(std::min(count - 2, period), window.dilation,
                        window.stride % window.dilation,
                        first < 0 ? first + window.dilation : first, in) > 0;
}

// Tap u of window i reads sample i s + u d - before: what a window of `kernel`
// taps is to its taps, a tap is to the windows.
bool has_idle_tap(std::int64_t in, const AxisWindow& window,
                  AxisPadding padding) {
  const std::int64_t count = window_count(in, window, padding);
  if (count == 0) return false;
  const std::int64_t read = window_span(window) + (count - 1) * window.stride;
  return has_empty_window(
      in,
      {.kernel = count, .stride = window.dilation, .dilation = window.stride},
      {padding.before, read - in - padding.before});
}

bool has_idle_parts(const Window2d& window, Pair in) {
  for (int i = 0; i < 2; ++i) {
    const AxisPadding padding = window.axis_padding(i);
    if (has_empty_window(in[i], window.axis(i), padding)) return true;
    if (has_idle_tap(in[i], window.axis(i), padding)) return true;
  }
  return false;
}

void require_window(const ShapeContext& ctx, const Window2d& window) {
  require_range(ctx, "kernel_size", window.kernel_size, 1);
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
            std::to_string(window.kernel_size[i]) + " taps at dilation " +
            std::to_string(window.dilation_rates[i]),
        std::to_string(in[i]) + " + " +
            std::to_string(padding.before + padding.after) + " of padding",
        "Use more padding or a smaller kernel, dilation rate or number of "
        "strided layers before this one.");
  }
  return out;
}

}  // namespace traingraph
