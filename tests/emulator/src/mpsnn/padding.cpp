// SPDX-License-Identifier: MIT
#include "mpsnn/padding.h"

namespace emulator::mpsnn {
namespace {

constexpr std::uint64_t kAlignTopLeft = 1, kAlignBottomRight = 2;
constexpr std::uint64_t kRemainderToRight = 1 << 2, kRemainderToBottom = 2 << 2;
constexpr std::uint64_t kSizeSame = 1 << 4, kSizeFull = 2 << 4;

/// The style is -1 for valid only, 0 for same, 1 for full.
int style_of(std::uint64_t method) {
  switch (method & (3 << 4)) {
    case kSizeSame:
      return 0;
    case kSizeFull:
      return 1;
    default:
      return -1;
  }
}

/// Says how many of `extra` pixels outside of the source lie before it. Apple's
/// sample code divides as C does: towards zero.
std::int64_t before(std::uint64_t method, std::int64_t extra,
                    bool remainder_is_after) {
  if (method & kAlignTopLeft) return extra;
  if (method & kAlignBottomRight) return 0;
  return (extra + (remainder_is_after ? 0 : 1)) / 2;
}

struct Axis {
  std::int64_t length, offset;
};

Axis place_axis(std::uint64_t method, std::int64_t source, std::int64_t extent,
                std::int64_t stride, bool remainder_is_after, bool is_reverse) {
  const int style = style_of(method);
  if (is_reverse) {
    // The extent of a convolution over the source with zeros put between its
    // pixels.
    const std::int64_t spread = (source - 1) * stride + 1;
    const std::int64_t length = spread + style * (extent - 1);
    const std::int64_t extra = length - 1 + extent - spread;
    return {length, extent / 2 - before(method, extra, remainder_is_after)};
  }
  const std::int64_t room = source + style * (extent - 1);
  const std::int64_t length = room > 0 ? (room + stride - 1) / stride : 0;
  const std::int64_t extra = (length - 1) * stride + extent - source;
  return {length, extent / 2 - before(method, extra, remainder_is_after)};
}

}  // namespace

Placement place(std::uint64_t method, const Window& window,
                const Extent& source, std::int64_t channels) {
  const Axis x =
      place_axis(method, source.width, window.extent_x(), window.stride_x,
                 method & kRemainderToRight, window.is_reverse);
  const Axis y =
      place_axis(method, source.height, window.extent_y(), window.stride_y,
                 method & kRemainderToBottom, window.is_reverse);
  Placement placement;
  placement.result = {channels, y.length, x.length};
  placement.offset_x = x.offset;
  placement.offset_y = y.offset;
  return placement;
}

}  // namespace emulator::mpsnn
