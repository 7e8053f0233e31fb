// SPDX-License-Identifier: MIT
// Convolutions with more rows or columns than MPSGraph gets right, in pieces of
// one axis. Plain C++, tested everywhere.
#pragma once

#include "metal/tiles.h"

namespace traingraph::metal {

/// One axis of a convolution: `image` elements and the zeros around them,
/// `result` windows.
struct ConvolutionAxis {
  std::int64_t image, kernel, stride, dilation, before, after, result;

  /// Elements from the first to the last of a window.
  std::int64_t reach() const { return (kernel - 1) * dilation + 1; }
};

/// Some windows, the part of the image that they see, and the zeros that they
/// see around it. They see nothing but zeros where `image` is empty.
struct WindowTile {
  Tile windows, image;
  std::int64_t before, after;
  bool operator==(const WindowTile&) const = default;
};

/// Tiles of up to `most_windows`; of which each is one that sees no more than
/// `longest_image` elements, where a window is that short.
std::vector<WindowTile> window_tiles(const ConvolutionAxis& axis,
                                     std::int64_t most_windows,
                                     std::int64_t longest_image);

/// A part of the gradient by the image: the windows that reach into it have,
/// with that padding, a gradient by `computed` elements, of which the part is
/// what follows the first `skipped`.
struct ImageTile {
  Tile image, windows;
  std::int64_t computed, skipped, before, after;
  bool operator==(const ImageTile&) const = default;
};

/// Tiles whose windows and computed elements are at most `longest`, which
/// can_tile_image() says are there.
std::vector<ImageTile> image_tiles(const ConvolutionAxis& axis,
                                   std::int64_t longest);
bool can_tile_image(const ConvolutionAxis& axis, std::int64_t longest);

}  // namespace traingraph::metal
