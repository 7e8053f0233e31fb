// SPDX-License-Identifier: MIT
// A convolution as a product: the samples that each output position reads are a
// column of a matrix, one row for each weight of a filter.
#pragma once

#include <cstdint>

#include "cpu/lowering.h"

namespace traingraph::cpu {

/// x (images, groups * in, height, width) * weights (groups * out, in, kernel)
/// -> y (images, groups * out, out_height, out_width)
struct ConvolutionSizes {
  std::int64_t images, groups;
  std::int64_t in, out;  // channels of a group
  std::int64_t height, width, out_height, out_width;
  Pair kernel, strides, dilations;
  std::int64_t top, left;  // padding

  template <class Attrs>
  ConvolutionSizes(const Attrs& attrs, const Shape& x, const Shape& weights,
                   const Shape& y)
      : images(x[0]),
        groups(attrs.groups),
        in(weights[1]),
        out(weights[0] / attrs.groups),
        height(x[2]),
        width(x[3]),
        out_height(y[2]),
        out_width(y[3]),
        kernel{weights[2], weights[3]},
        strides(attrs.strides),
        dilations(attrs.dilation_rates),
        top(attrs.padding[0]),
        left(attrs.padding[2]) {}

  std::int64_t taps() const { return kernel[0] * kernel[1]; }
  /// Weights of a filter: the depth of the product.
  std::int64_t depth() const { return in * taps(); }
  std::int64_t in_size() const { return height * width; }
  std::int64_t out_size() const { return out_height * out_width; }
  /// Are the columns the image itself?
  bool is_pointwise() const {
    return taps() == 1 && strides == Pair{1, 1} && top == 0 && left == 0 &&
           out_height == height && out_width == width;
  }
};

/// Output positions [begin, end) of one image.
struct Positions {
  std::int64_t begin, end;
  std::int64_t count() const { return end - begin; }
};

/// Rows of the columns for `channels` channels from `x` on (of one image): row
/// (channel, kernel row, kernel column), `row` elements from one to the next.
void to_columns(const ConvolutionSizes& sizes, const float* x,
                std::int64_t channels, const Positions& positions,
                float* columns, std::int64_t row);
/// Its adjoint: adds columns to the samples of `dx`.
void add_columns(const ConvolutionSizes& sizes, const float* columns,
                 std::int64_t row, std::int64_t channels,
                 const Positions& positions, float* dx);

}  // namespace traingraph::cpu
