// SPDX-License-Identifier: MIT
// How a convolution is cut: into positions of one image, or into whole images
// where those are small, so that the columns of a tile stay in the second
// cache.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/checked.h"
#include "cpu/cblas/im2col.h"
#include "cpu/cblas/sgemm.h"

namespace traingraph::cpu {

struct ConvolutionTile {
  std::int64_t image, images;  // more than one only as a whole
  Positions positions;         // of each image
  std::int64_t count() const { return images * positions.count(); }
};

class ConvolutionTiles {
 public:
  /// `depth`: rows of the columns that are in memory at a time; at least
  /// `wanted` tiles if there are as many.
  ConvolutionTiles(const ConvolutionSizes& sizes, std::int64_t depth,
                   std::int64_t wanted)
      : sizes_(sizes) {
    const std::int64_t size = sizes.out_size();
    const std::int64_t most =
        std::max({kCached / depth, std::min(kWorthPacking, kMax / depth),
                  kMinPositions});
    if (size >= kWholeImages || sizes.images == 1) {
      const std::int64_t for_all =
          std::min((wanted + sizes.images - 1) / sizes.images,
                   std::max<std::int64_t>(size / kWholeImages, 1));
      const std::int64_t per_image =
          std::max((size + most - 1) / most, for_all);
      const std::int64_t even = (size + per_image - 1) / per_image;
      positions_ = std::min(size, round_up(even, 16));
      return;
    }
    positions_ = size;
    const std::int64_t all = std::max<std::int64_t>(sizes.images / wanted, 1);
    images_ = std::clamp<std::int64_t>(most / size, 1, all);
  }

  std::int64_t per_image() const {
    return (sizes_.out_size() + positions_ - 1) / positions_;
  }
  std::int64_t image_groups() const {
    return (sizes_.images + images_ - 1) / images_;
  }
  std::int64_t count() const { return per_image() * image_groups(); }
  /// Positions of the largest tile.
  std::int64_t most_positions() const { return images_ * positions_; }
  bool has_whole_images() const { return images_ > 1; }

  ConvolutionTile operator[](std::int64_t index) const {
    const std::int64_t image = index / per_image() * images_;
    const std::int64_t begin = index % per_image() * positions_;
    return {image,
            std::min(images_, sizes_.images - image),
            {begin, std::min(begin + positions_, sizes_.out_size())}};
  }

 private:
  // Floats of the columns of a tile: half of a second cache of 2 MB. Where that
  // is few positions, rather so many that packing the weights again for each
  // tile is worth it, up to kMax.
  static constexpr std::int64_t kCached = std::int64_t{1} << 18;
  static constexpr std::int64_t kMax = std::int64_t{1} << 21;
  static constexpr std::int64_t kWorthPacking = 256, kMinPositions = 16;
  /// Images of fewer positions are in tiles as a whole.
  static constexpr std::int64_t kWholeImages = 128;

  ConvolutionSizes sizes_;
  std::int64_t positions_ = 1, images_ = 1;
};

/// Channels [begin, end) of each group, of a cut into `count` blocks.
struct ChannelBlock {
  std::int64_t begin, end;
  std::int64_t count() const { return end - begin; }

  static ChannelBlock of(std::int64_t channels, std::int64_t index,
                         std::int64_t count) {
    return {channels * index / count, channels * (index + 1) / count};
  }
};

/// The columns of a tile for channels of group `group`: in `space`, unless the
/// image has them as they are.
inline BlasOperand columns_of(const ConvolutionSizes& s, const float* x,
                              const ConvolutionTile& tile, std::int64_t group,
                              const ChannelBlock& channels, float* space) {
  const auto image = [&](std::int64_t i) {
    const std::int64_t channel =
        ((tile.image + i) * s.groups + group) * s.in + channels.begin;
    return x + channel * s.in_size();
  };
  if (s.is_pointwise() && tile.images == 1) {
    return {image(0) + tile.positions.begin, s.in_size(), false};
  }
  for (std::int64_t i = 0; i < tile.images; ++i) {
    to_columns(s, image(i), channels.count(), tile.positions,
               space + i * tile.positions.count(), tile.count());
  }
  return {space, tile.count(), false};
}

/// The tile of y, or of its gradient, as a matrix of a row for each channel of
/// the group: in `space`, where it is more than one image.
inline BlasOperand rows_of(const ConvolutionSizes& s, const float* y,
                           const ConvolutionTile& tile, std::int64_t group,
                           float* space) {
  const std::int64_t size = s.out_size();
  const auto image = [&](std::int64_t i) {
    return y + ((tile.image + i) * s.groups + group) * s.out * size;
  };
  if (tile.images == 1) return {image(0) + tile.positions.begin, size, false};
  for (std::int64_t i = 0; i < tile.images; ++i) {
    for (std::int64_t channel = 0; channel < s.out; ++channel) {
      std::memcpy(space + channel * tile.count() + i * size,
                  image(i) + channel * size, size * sizeof(float));
    }
  }
  return {space, tile.count(), false};
}

/// Scratch floats of each worker, in whole cache lines: for columns, then for
/// rows.
struct TileSpace {
  std::int64_t columns, rows;
  std::int64_t floats() const {
    return round_up(columns, 16) + round_up(rows, 16);
  }
  std::size_t bytes(std::int64_t workers) const {
    const std::int64_t all = checked_multiply(workers, floats(), "scratch");
    return checked_bytes<float>(std::max<std::int64_t>(all, 1), "scratch");
  }
  float* columns_at(float* scratch, std::int64_t worker) const {
    return scratch + worker * floats();
  }
  float* rows_at(float* scratch, std::int64_t worker) const {
    return columns_at(scratch, worker) + round_up(columns, 16);
  }
};

}  // namespace traingraph::cpu
