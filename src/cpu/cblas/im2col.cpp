// SPDX-License-Identifier: MIT
#include "cpu/cblas/im2col.h"

#include "cpu/cblas/taps.h"
#include "cpu/instruction_set.h"

namespace traingraph::cpu {
namespace {

/// Calls use(channel, row of the columns, rows' tap, columns' tap).
template <class Use>
void for_each_tap(const ConvolutionSizes& s, std::int64_t channels,
                  const Use& use) {
  for (std::int64_t i = 0; i < s.kernel[0]; ++i) {
    const Tap rows = row_tap(s, i);
    for (std::int64_t j = 0; j < s.kernel[1]; ++j) {
      const Tap columns = column_tap(s, j);
      for (std::int64_t c = 0; c < channels; ++c) {
        use(c, c * s.taps() + i * s.kernel[1] + j, rows, columns);
      }
    }
  }
}

void fill_zeros(float* to, std::int64_t count) {
  for (std::int64_t k = 0; k < count; ++k) to[k] = 0;
}

void copy_samples(const float* from, std::int64_t stride, std::int64_t count,
                  float* to) {
  if (stride == 1) {
#pragma omp simd
    for (std::int64_t k = 0; k < count; ++k) to[k] = from[k];
  } else if (stride == 2) {
#pragma omp simd
    for (std::int64_t k = 0; k < count; ++k) to[k] = from[2 * k];
  } else {
    for (std::int64_t k = 0; k < count; ++k) to[k] = from[stride * k];
  }
}

}  // namespace

void to_columns(const ConvolutionSizes& s, const float* x,
                std::int64_t channels, const Positions& positions,
                float* columns, std::int64_t row) {
  const auto copy = [&](std::int64_t channel, std::int64_t to_row,
                        const Tap& rows, const Tap& taps) {
    const float* const image = x + channel * s.in_size();
    float* const to = columns + to_row * row;
    for_each_row(
        s, rows, taps, positions,
        [&](auto from, auto place, auto count, auto before, auto behind) {
          float* const at = to + place + before;
          fill_zeros(to + place, before);
          copy_samples(image + from, taps.stride, count, at);
          fill_zeros(at + count, behind);
        });
  };
  vectorized([&] { for_each_tap(s, channels, copy); });
}

void add_columns(const ConvolutionSizes& s, const float* columns,
                 std::int64_t row, std::int64_t channels,
                 const Positions& positions, float* dx) {
  const auto add = [&](std::int64_t channel, std::int64_t from_row,
                       const Tap& rows, const Tap& taps) {
    float* const image = dx + channel * s.in_size();
    const float* const from = columns + from_row * row;
    for_each_row(s, rows, taps, positions,
                 [&](auto to, auto place, auto count, auto before, auto) {
                   const float* const at = from + place + before;
                   float* const target = image + to;
                   if (taps.stride == 1) {
#pragma omp simd
                     for (std::int64_t k = 0; k < count; ++k)
                       target[k] += at[k];
                   } else {
#pragma omp simd
                     for (std::int64_t k = 0; k < count; ++k) {
                       target[k * taps.stride] += at[k];
                     }
                   }
                 });
  };
  vectorized([&] { for_each_tap(s, channels, add); });
}

}  // namespace traingraph::cpu
