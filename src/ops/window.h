// SPDX-License-Identifier: MIT
// The arithmetic of sliding windows: where kernels land on one axis, what the
// padding policies mean, and the checks that convolution and pooling share.
//
// With in, out: extents, k: kernel size, s: stride, d: dilation rate and
// k^ = (k - 1) d + 1, window i reads the samples i s + u d - before, u < k:
//
//   policy           padding                       out
//   Same             P = max((out-1)s+k^-in, 0)    ceil(in / s)
//                    before = floor(P / 2), after = P - before
//   Valid            0                             floor((in - k^) / s) + 1
//   UsePaddingSize p p on both sides               floor((in + 2p - k^) / s) +
//   1
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "graph/op_def.h"
#include "traingraph/enums.h"
#include "traingraph/op_attrs.h"

namespace traingraph {

/// The limit of each attribute keeps every product of two within 64 bits.
inline constexpr std::int64_t kMaxWindow =
    std::numeric_limits<std::int32_t>::max();

/// Messages name a window's two axes so.
inline constexpr std::array kAxisNames{"height", "width"};

/// Samples added to one axis.
struct AxisPadding {
  std::int64_t before = 0;
  std::int64_t after = 0;
  bool operator==(const AxisPadding&) const = default;
};

/// The kernel on one axis.
struct AxisWindow {
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
};

/// k^: from the first to the last sample that one window reads.
std::int64_t window_span(const AxisWindow& window);

/// floor((in + before + after - k^) / s) + 1; 0 when the kernel does not fit.
std::int64_t window_count(std::int64_t in, const AxisWindow& window,
                          AxisPadding padding);

/// The padding of the table above.
AxisPadding resolve_padding(PaddingPolicy policy, std::int64_t in,
                            const AxisWindow& window,
                            std::int64_t padding_size);

/// `padding` with as much behind as a window needs that begins inside the
/// padded axis, in front of its `after`, and ends behind it: ceil mode. There
/// may be one more window then, never two.
AxisPadding extend_padding(std::int64_t in, const AxisWindow& window,
                           AxisPadding padding);

/// A transposed convolution on one axis: the extent of its result and the
/// padding of the convolution that it is the input gradient of.
struct TransposedAxis {
  std::int64_t out = 1;
  AxisPadding padding;
  bool operator==(const TransposedAxis&) const = default;
};

/// Same: out = in s, padded as a Same convolution of that result; Valid:
/// (in - 1) s + k^; UsePaddingSize p: (in - 1) s + k^ - 2p. `out` may be below
/// 1 then; convolution_2d_input_gradient refuses it. A convolution of the
/// result with this padding has `in` windows again.
TransposedAxis resolve_transposed_padding(PaddingPolicy policy, std::int64_t in,
                                          const AxisWindow& window,
                                          std::int64_t padding_size);

/// Does some window read padding only? Dilated kernels can even with little
/// padding.
bool has_empty_window(std::int64_t in, const AxisWindow& window,
                      AxisPadding padding);

/// Does some tap of the kernel read padding only, in all windows? In a short
/// image the outer ones do.
bool has_idle_tap(std::int64_t in, const AxisWindow& window,
                  AxisPadding padding);

/// Kernel, strides, dilation rates and padding of both image axes.
struct Window2d {
  Pair kernel_size{1, 1};
  Pair strides{1, 1};
  Pair dilation_rates{1, 1};
  Padding padding{};

  /// Axis 0 is the height, 1 the width.
  AxisWindow axis(int i) const {
    return {kernel_size[i], strides[i], dilation_rates[i]};
  }
  AxisPadding axis_padding(int i) const {
    return {padding[2 * i], padding[2 * i + 1]};
  }
};

/// The window of a convolution with weights (O, I / groups, H, W), or of its
/// gradients.
template <class Attrs>
Window2d window_of(const Attrs& attrs, const Shape& weights) {
  return {{weights[2], weights[3]},
          attrs.strides,
          attrs.dilation_rates,
          attrs.padding};
}

/// Does some window, or some tap in all windows, read padding only?
bool has_idle_parts(const Window2d& window, Pair in);

/// Throws InvalidArgument for strides or dilation rates below 1 and for
/// negative padding.
void require_window(const ShapeContext& ctx, const Window2d& window);

/// (height, width) of the result for an input of (height, width) `in`; throws
/// ShapeError where the kernel does not fit.
Pair require_windows_fit(const ShapeContext& ctx, const Window2d& window,
                         Pair in);

}  // namespace traingraph
