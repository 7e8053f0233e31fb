// SPDX-License-Identifier: MIT
// Which samples the taps of a filter read.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/cblas/im2col.h"

namespace traingraph::cpu {

/// Rounds towards infinity, also for a negative `a`.
inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return a >= 0 ? (a + b - 1) / b : -(-a / b);
}

/// One tap of a filter: output position o reads sample o * stride + offset.
struct Tap {
  std::int64_t stride, offset;
  std::int64_t begin, end;  // the outputs whose sample is in the image

  Tap(std::int64_t stride, std::int64_t offset, std::int64_t size,
      std::int64_t out)
      : stride(stride),
        offset(offset),
        begin(std::clamp<std::int64_t>(ceil_div(-offset, stride), 0, out)),
        end(std::clamp<std::int64_t>(ceil_div(size - offset, stride), begin,
                                     out)) {}
};

/// Calls use(place in the image, place in the positions, count, zeros before,
/// zeros behind) for each part of an output row; count 0: all are zeros before.
template <class Use>
void for_each_row(const ConvolutionSizes& s, const Tap& rows,
                  const Tap& columns, const Positions& positions,
                  const Use& use) {
  std::int64_t row = positions.begin / s.out_width;
  for (std::int64_t at = positions.begin; at < positions.end; ++row) {
    const std::int64_t first = at - row * s.out_width;
    const std::int64_t last =
        std::min(s.out_width, positions.end - row * s.out_width);
    const std::int64_t place = at - positions.begin;
    at += last - first;
    if (row < rows.begin || row >= rows.end) {
      use(0, place, 0, last - first, 0);
      continue;
    }
    const std::int64_t begin = std::clamp(columns.begin, first, last);
    const std::int64_t end = std::clamp(columns.end, begin, last);
    const std::int64_t from = (row * rows.stride + rows.offset) * s.width +
                              (begin * columns.stride + columns.offset);
    use(from, place, end - begin, begin - first, last - end);
  }
}

inline Tap row_tap(const ConvolutionSizes& s, std::int64_t i) {
  return {s.strides[0], i * s.dilations[0] - s.top, s.height, s.out_height};
}
inline Tap column_tap(const ConvolutionSizes& s, std::int64_t j) {
  return {s.strides[1], j * s.dilations[1] - s.left, s.width, s.out_width};
}

}  // namespace traingraph::cpu
