// SPDX-License-Identifier: MIT
#include "metal/convolution_tiles.h"

#include <algorithm>

namespace traingraph::metal {
namespace {

std::int64_t divide_down(std::int64_t x, std::int64_t y) {
  return x >= 0 ? x / y : -((-x + y - 1) / y);
}

/// What windows that reach into a tile see beyond it.
std::int64_t overlap(const ConvolutionAxis& axis) {
  return 2 * axis.reach() + axis.stride;
}

bool fits(const ConvolutionAxis& axis, std::int64_t longest) {
  return axis.image <= longest && axis.result <= longest;
}

}  // namespace

std::vector<WindowTile> window_tiles(const ConvolutionAxis& axis,
                                     std::int64_t most_windows,
                                     std::int64_t longest_image) {
  if (axis.result <= most_windows && axis.image <= longest_image) {
    return {{{0, axis.result}, {0, axis.image}, axis.before, axis.after}};
  }
  const std::int64_t seen = std::max<std::int64_t>(
      (longest_image - axis.reach()) / axis.stride + 1, 1);
  std::vector<WindowTile> tiles;
  for (const Tile& windows :
       tiles_of(axis.result, std::min(most_windows, seen))) {
    const std::int64_t from = windows.start * axis.stride - axis.before;
    const std::int64_t to =
        from + (windows.length - 1) * axis.stride + axis.reach();
    const std::int64_t start = std::clamp<std::int64_t>(from, 0, axis.image);
    const std::int64_t end = std::clamp<std::int64_t>(to, 0, axis.image);
    tiles.push_back({windows, {start, end - start}, start - from, to - end});
  }
  return tiles;
}

std::vector<ImageTile> image_tiles(const ConvolutionAxis& axis,
                                   std::int64_t longest) {
  if (fits(axis, longest)) {
    return {{{0, axis.image},
             {0, axis.result},
             axis.image,
             0,
             axis.before,
             axis.after}};
  }
  const std::int64_t most = std::max<std::int64_t>(longest - overlap(axis), 1);
  std::vector<ImageTile> tiles;
  for (const Tile& image : tiles_of(axis.image, most)) {
    const std::int64_t last = image.start + image.length - 1;
    const auto window = [&](std::int64_t element) {
      return std::clamp<std::int64_t>(divide_down(element, axis.stride), 0,
                                      axis.result - 1);
    };
    const std::int64_t first_window =
        window(image.start + axis.before - (axis.reach() - 1));
    const std::int64_t last_window = window(last + axis.before);
    const std::int64_t from = first_window * axis.stride - axis.before;
    const std::int64_t to =
        last_window * axis.stride - axis.before + axis.reach();
    tiles.push_back({image,
                     {first_window, last_window - first_window + 1},
                     std::max(to, last + 1) - from,
                     image.start - from,
                     0,
                     0});
  }
  return tiles;
}

bool can_tile_image(const ConvolutionAxis& axis, std::int64_t longest) {
  return fits(axis, longest) || longest > overlap(axis);
}

}  // namespace traingraph::metal
