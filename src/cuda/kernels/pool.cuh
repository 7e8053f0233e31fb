// SPDX-License-Identifier: MIT
// Pooling of images. Windows read samples of the image only, of which each has
// some; gradients look for the windows that read a sample.
#pragma once

#include "cuda/kernels/reducers.cuh"

namespace traingraph {
namespace cuda {

/// One axis of images and its windows.
struct PoolAxis {
  Index size, windows, kernel, stride, dilation, before;

  /// The samples `first`, first + dilation ... of a window.
  struct Samples {
    Index first, count;
  };
  __device__ Samples samples(Index window) const {
    const Index start = window * stride - before;
    const Index skipped = start < 0 ? (-start + dilation - 1) / dilation : 0;
    const Index first = start + skipped * dilation;
    const Index inside = first < size ? (size - 1 - first) / dilation + 1 : 0;
    const Index left = kernel - skipped;
    return {first, left < inside ? left : inside};
  }
  /// The windows from `first` to `last` that may read a sample.
  struct Windows {
    Index first, last;
  };
  __device__ Windows around(Index sample) const {
    const Index from = sample + before - (kernel - 1) * dilation;
    const Index last = (sample + before) / stride;
    return {from <= 0 ? 0 : (from + stride - 1) / stride,
            last < windows ? last : windows - 1};
  }
  /// Is the sample one of the window's taps, and not between them?
  __device__ bool reads(Index window, Index sample) const {
    return (sample + before - window * stride) % dilation == 0;
  }
};

/// Calls visit(position in the image) for the samples of a window, in order.
template <class Visit>
inline __device__ void visit_samples(const PoolAxis& rows,
                                     const PoolAxis& columns, Index row,
                                     Index column, Visit visit) {
  const PoolAxis::Samples of_rows = rows.samples(row);
  const PoolAxis::Samples of_columns = columns.samples(column);
  for (Index i = 0; i < of_rows.count; ++i) {
    const Index begin = (of_rows.first + i * rows.dilation) * columns.size;
    for (Index j = 0; j < of_columns.count; ++j) {
      visit(begin + of_columns.first + j * columns.dilation);
    }
  }
}

/// Calls visit(window's number) for those that read a sample, in order.
template <class Visit>
inline __device__ void visit_windows(const PoolAxis& rows,
                                     const PoolAxis& columns, Index row,
                                     Index column, Visit visit) {
  const PoolAxis::Windows of_rows = rows.around(row);
  const PoolAxis::Windows of_columns = columns.around(column);
  for (Index i = of_rows.first; i <= of_rows.last; ++i) {
    if (!rows.reads(i, row)) continue;
    for (Index j = of_columns.first; j <= of_columns.last; ++j) {
      if (columns.reads(j, column)) visit(i * columns.windows + j);
    }
  }
}

/// The position of the largest sample of a window, of equal ones the first. A
/// NaN is larger.
template <class T>
inline __device__ Index position_of_largest(const T* image,
                                            const PoolAxis& rows,
                                            const PoolAxis& columns, Index row,
                                            Index column) {
  Index winner = -1;
  float largest = 0;
  visit_samples(rows, columns, row, column, [&](Index at) {
    const float sample = image[at];
    if (winner >= 0 && !Greatest<float>::is_before(sample, largest)) return;
    winner = at;
    largest = sample;
  });
  return winner;
}

/// What the average of a window divides by.
inline __device__ float num_averaged(const PoolAxis& rows,
                                     const PoolAxis& columns, Index row,
                                     Index column, bool counts_padding) {
  const Index count =
      counts_padding ? rows.kernel * columns.kernel
                     : rows.samples(row).count * columns.samples(column).count;
  return static_cast<float>(count);
}

template <class T>
inline __device__ float average(const T* image, const PoolAxis& rows,
                                const PoolAxis& columns, Index row,
                                Index column, bool counts_padding) {
  PreciseSum sum = Sum::neutral();
  visit_samples(rows, columns, row, column,
                [&](Index at) { sum = Sum::merge(sum, Sum::of(image[at])); });
  return sum.value() / num_averaged(rows, columns, row, column, counts_padding);
}

/// Of the windows' gradients dy, those of windows that this sample won.
template <class T>
inline __device__ float max_pool_slope(const T* dy, const int32* winners,
                                       const PoolAxis& rows,
                                       const PoolAxis& columns, Index row,
                                       Index column) {
  float sum = 0;
  visit_windows(rows, columns, row, column, [&](Index window) {
    if (winners[window] == row * columns.size + column) {
      sum += static_cast<float>(dy[window]);
    }
  });
  return sum;
}

template <class T>
inline __device__ float average_pool_slope(const T* dy, const PoolAxis& rows,
                                           const PoolAxis& columns, Index row,
                                           Index column, bool counts_padding) {
  float sum = 0;
  visit_windows(rows, columns, row, column, [&](Index window) {
    sum += static_cast<float>(dy[window]) /
           num_averaged(rows, columns, window / columns.windows,
                        window % columns.windows, counts_padding);
  });
  return sum;
}

}  // namespace cuda
}  // namespace traingraph
