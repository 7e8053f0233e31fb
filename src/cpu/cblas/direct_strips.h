// SPDX-License-Identifier: MIT
// How a convolution of stride 1 is cut for direct_tiles.h: into strips of
// output rows of one image, whose samples, with the zeros around them, stay in
// the second cache.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cpu/cblas/im2col.h"
#include "cpu/cblas/sgemm.h"

namespace traingraph::cpu::direct {

struct Strip {
  std::int64_t image, begin, end;  // output rows
  std::int64_t rows() const { return end - begin; }
};

class Strips {
 public:
  /// Makes at least `wanted` strips if there are as many.
  Strips(const ConvolutionSizes& s, std::int64_t wanted)
      : sizes_(s),
        halo_((s.kernel[0] - 1) * s.dilations[0]),
        width_(s.out_width + (s.kernel[1] - 1) * s.dilations[1]) {
    const std::int64_t fits =
        (kCached / width_ - s.in * halo_) / (s.in + s.out);
    const std::int64_t for_all = (wanted + s.images - 1) / s.images;
    const std::int64_t most =
        std::min(std::max<std::int64_t>(fits, 1),
                 std::max<std::int64_t>(s.out_height / for_all, 1));
    per_image_ = (s.out_height + most - 1) / most;
    rows_ = (s.out_height + per_image_ - 1) / per_image_;
    for (std::int64_t c = 0; c < s.in; ++c) {
      for (std::int64_t i = 0; i < s.kernel[0]; ++i) {
        for (std::int64_t j = 0; j < s.kernel[1]; ++j) {
          offsets_.push_back(c * plane() + i * s.dilations[0] * width_ +
                             j * s.dilations[1]);
        }
      }
    }
  }

  std::int64_t count() const { return sizes_.images * per_image_; }
  Strip operator[](std::int64_t index) const {
    const std::int64_t begin = index % per_image_ * rows_;
    return {index / per_image_, std::min(begin, sizes_.out_height),
            std::min(begin + rows_, sizes_.out_height)};
  }

  /// Output rows of a strip, at most.
  std::int64_t most_rows() const { return rows_; }
  /// Floats of a padded row.
  std::int64_t width() const { return width_; }
  /// Floats of a padded channel.
  std::int64_t plane() const { return (rows_ + halo_) * width_; }
  /// Where samples of each weight of a filter are.
  const std::int64_t* offsets() const { return offsets_.data(); }

  /// Positions of `rows` output rows: the last one ends where samples do.
  std::int64_t positions(std::int64_t rows) const {
    return (rows - 1) * width_ + sizes_.out_width;
  }

  /// The samples of a strip: `image` is that of the group's channels.
  void pad(const Strip& strip, const float* image, float* to) const {
    const ConvolutionSizes& s = sizes_;
    const std::int64_t left = std::clamp<std::int64_t>(s.left, 0, width_);
    const std::int64_t skipped = left - s.left;
    const std::int64_t count =
        std::clamp<std::int64_t>(s.width - skipped, 0, width_ - left);
    for (std::int64_t c = 0; c < s.in; ++c) {
      for (std::int64_t i = 0; i < strip.rows() + halo_; ++i) {
        float* const row = to + c * plane() + i * width_;
        const std::int64_t from = strip.begin + i - s.top;
        if (from < 0 || from >= s.height) {
          std::fill_n(row, width_, 0.0f);
          continue;
        }
        std::fill_n(row, left, 0.0f);
        std::copy_n(image + (c * s.height + from) * s.width + skipped, count,
                    row + left);
        std::fill(row + left + count, row + width_, 0.0f);
      }
    }
  }

 private:
  // Half of a second cache of 2 MB, for samples and results.
  static constexpr std::int64_t kCached = std::int64_t{1} << 18;

  ConvolutionSizes sizes_;
  std::int64_t halo_, width_, per_image_ = 1, rows_ = 1;
  std::vector<std::int64_t> offsets_;
};

/// Does a convolution gain by reading the image as it is? Where the CBLAS has a
/// matrix unit nothing else comes near, and narrow images are mostly zeros.
inline bool suits(const ConvolutionSizes& s) {
  const std::int64_t width = s.out_width + (s.kernel[1] - 1) * s.dilations[1];
  return !kHasMatrixUnit && s.strides == Pair{1, 1} && s.taps() > 1 &&
         4 * s.out_width >= 3 * width;
}

/// The input gradient of `s` is a convolution of the gradient, with other
/// padding, by turned filters.
inline ConvolutionSizes turned(const ConvolutionSizes& s) {
  ConvolutionSizes t = s;
  std::swap(t.in, t.out);
  std::swap(t.height, t.out_height);
  std::swap(t.width, t.out_width);
  t.top = (s.kernel[0] - 1) * s.dilations[0] - s.top;
  t.left = (s.kernel[1] - 1) * s.dilations[1] - s.left;
  return t;
}

}  // namespace traingraph::cpu::direct
