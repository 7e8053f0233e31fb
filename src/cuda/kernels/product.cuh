// SPDX-License-Identifier: MIT
// Matrix products of any size: z = x y, sums in float32. A block has a tile of
// z, which it sums over the depth in steps of kDepth; kStages of them are under
// way at once. The rows of x and the columns of y are lines: deep ones have
// their depth side by side in memory, wide ones one depth of all lines. Each is
// kept as it is in memory, and read four elements at a time.
//
// A thread sums 4 x 4 elements. As many threads as the tile needs of them are a
// slice; the slices of a block share each step's depth, and their sums are
// added in their order.
#pragma once

#include "cuda/kernels/convert.cuh"
#include "cuda/kernels/copy_async.cuh"
#include "formulas/activation.h"
#include "formulas/arithmetic.h"

namespace traingraph {
namespace cuda {

template <int kRows_, int kColumns_, int kDepth_, int kStages_>
struct ProductTile {
  enum {
    kRows = kRows_,
    kColumns = kColumns_,
    kDepth = kDepth_,
    kStages = kStages_,
    kThreads = 256,
    kSize = kRows * kColumns,
    kRowThreads = kRows / 4,
    kColumnThreads = kColumns / 4,
    kSliceThreads = kSize / 16,
    kSlices = kThreads / kSliceThreads,
    kGroups = kDepth / 4,
    // Threads that add the sums of one element, and how far apart in shared
    // memory the slices are: these threads read other banks.
    kAdders = kSize < kThreads ? kThreads / kSize : 1,
    kSliceStride = kSize + (kAdders > 1 ? kWarp / kAdders : 0),
  };
};

/// The lines of an operand in memory. `stride` is from line to line of deep
/// ones, from depth to depth of wide ones.
template <class T, bool kIsDeep_, int kWidth_>
struct Lines {
  using Element = T;
  static constexpr bool kIsDeep = kIsDeep_;
  static constexpr int kWidth = kWidth_;  // of a copy
  const T* data;
  Index stride, count;
};

template <int kMost>
inline __device__ int bounded(Index count) {
  return count < kMost ? static_cast<int>(count) : kMost;
}

/// kCount lines of a step in shared memory.
template <class Lines, int kCount, int kDepth, int kThreads>
struct LinesTile {
  using T = typename Lines::Element;
  static constexpr bool kIsDeep = Lines::kIsDeep;
  // Of deep lines an odd number of fours: neighbours are in other banks.
  static constexpr int kStride =
      kIsDeep ? kDepth + (kDepth / 4 % 2 == 0 ? 4 : 0) : kCount;
  static constexpr int kBytes =
      kStride * (kIsDeep ? kCount : kDepth) * static_cast<int>(sizeof(T));
  static_assert(kBytes % 16 == 0, "what follows is aligned");

  static __device__ void fetch(T* tile, const Lines& from, Index first_line,
                               Index first_depth, Index end_depth) {
    constexpr int kWidth = Lines::kWidth;
    constexpr int kRow = (kIsDeep ? kDepth : kCount) / kWidth;
    constexpr int kAll = kRow * (kIsDeep ? kCount : kDepth);
    const T* const corner =
        from.data + (kIsDeep ? first_line * from.stride + first_depth
                             : first_depth * from.stride + first_line);
    const int lines = bounded<kCount>(from.count - first_line);
    const int depths = bounded<kDepth>(end_depth - first_depth);
    const int num_outer = kIsDeep ? lines : depths;
    const int num_inner = kIsDeep ? depths : lines;
#pragma unroll 4
    for (int i = threadIdx.x; i < kAll; i += kThreads) {
      const int outer = i / kRow, inner = i % kRow * kWidth;
      const bool is_there = outer < num_outer && inner < num_inner;
      copy_async<kWidth>(
          tile + outer * kStride + inner,
          is_there ? corner + (outer * from.stride + inner) : from.data,
          is_there);
    }
  }

  /// The line of the tile that is number k of thread `thread` of kCount / 4.
  static __device__ int line(int thread, int k) {
    return kIsDeep ? thread + k * (kCount / 4) : thread * 4 + k;
  }

  /// Four lines at four depths: values[k][q].
  static __device__ void read(const T* tile, int thread, int group,
                              float (&values)[4][4]) {
    using Four = Elements<T, 4>;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const T* at = kIsDeep ? tile + line(thread, i) * kStride + group * 4
                            : tile + (group * 4 + i) * kStride + thread * 4;
      const Four four = *reinterpret_cast<const Four*>(at);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        (kIsDeep ? values[i][k] : values[k][i]) =
            static_cast<float>(four.at[k]);
      }
    }
  }
};

/// Which part of a product a block has.
struct ProductBlock {
  Index row, column;  // where its tile begins
  Index batch, split;
};

/// Blocks that are neighbours share rows of x.
template <class Tile>
inline __device__ ProductBlock find_product_block(Index rows, Index columns,
                                                  Index splits) {
  const Index down = (rows + Tile::kRows - 1) / Tile::kRows;
  const Index across = (columns + Tile::kColumns - 1) / Tile::kColumns;
  Index i = blockIdx.x;
  ProductBlock block;
  block.column = i % across * Tile::kColumns;
  i /= across;
  block.row = i % down * Tile::kRows;
  i /= down;
  block.split = i % splits;
  block.batch = i / splits;
  return block;
}

/// Calls finish(sum, row, column) for each element of the block's tile, whose
/// depths are those of its split. Splits are whole steps.
template <class Tile, class X, class Y, class Finish>
inline __device__ void product(const ProductBlock& block, const X& x,
                               const Y& y, Index depth, Index splits,
                               Finish finish) {
  using XTile = LinesTile<X, Tile::kRows, Tile::kDepth, Tile::kThreads>;
  using YTile = LinesTile<Y, Tile::kColumns, Tile::kDepth, Tile::kThreads>;
  constexpr int kStageBytes = XTile::kBytes + YTile::kBytes;
  constexpr int kSumBytes = Tile::kSlices * Tile::kSliceStride * 4;
  constexpr int kRingBytes = Tile::kStages * kStageBytes;
  using Quad = Elements<float, 4>;
  SHARED(Quad, memory, (kRingBytes > kSumBytes ? kRingBytes : kSumBytes) / 16);
  auto* const ring = reinterpret_cast<unsigned char*>(memory);

  const Index steps = (depth + Tile::kDepth - 1) / Tile::kDepth;
  const Index first = steps * block.split / splits;
  const Index last = steps * (block.split + 1) / splits;
  const auto fetch = [&](Index step, int stage) {
    unsigned char* const at = ring + stage * kStageBytes;
    const Index begin = step * Tile::kDepth;
    XTile::fetch(reinterpret_cast<typename X::Element*>(at), x, block.row,
                 begin, depth);
    YTile::fetch(reinterpret_cast<typename Y::Element*>(at + XTile::kBytes), y,
                 block.column, begin, depth);
  };
  for (int stage = 0; stage < Tile::kStages; ++stage) {
    if (first + stage < last) fetch(first + stage, stage);
    commit_copies();
  }

  const int thread = threadIdx.x, slice = thread / Tile::kSliceThreads;
  const int row_thread = thread % Tile::kSliceThreads / Tile::kColumnThreads;
  const int column_thread = thread % Tile::kColumnThreads;
  float sums[4][4] = {};
  int stage = 0;
  for (Index step = first; step < last; ++step) {
    wait_for_copies<Tile::kStages - 1>();
    barrier();
    const unsigned char* const at = ring + stage * kStageBytes;
    const auto* x_tile = reinterpret_cast<const typename X::Element*>(at);
    const auto* y_tile =
        reinterpret_cast<const typename Y::Element*>(at + XTile::kBytes);
#pragma unroll 2
    for (int group = slice; group < Tile::kGroups; group += Tile::kSlices) {
      float a[4][4], b[4][4];
      XTile::read(x_tile, row_thread, group, a);
      YTile::read(y_tile, column_thread, group, b);
#pragma unroll
      for (int q = 0; q < 4; ++q) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
#pragma unroll
          for (int j = 0; j < 4; ++j) {
            sums[i][j] = fmaf(a[i][q], b[j][q], sums[i][j]);
          }
        }
      }
    }
    barrier();
    if (step + Tile::kStages < last) fetch(step + Tile::kStages, stage);
    commit_copies();
    stage = stage + 1 == Tile::kStages ? 0 : stage + 1;
  }

  wait_for_copies<0>();
  auto* const parts = reinterpret_cast<float*>(memory);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      parts[slice * Tile::kSliceStride +
            XTile::line(row_thread, i) * Tile::kColumns +
            YTile::line(column_thread, j)] = sums[i][j];
    }
  }
  barrier();
  constexpr int kElements =
      Tile::kSize / Tile::kThreads + (Tile::kAdders > 1 ? 1 : 0);
#pragma unroll
  for (int k = 0; k < kElements; ++k) {
    const int element = k * Tile::kThreads + thread / Tile::kAdders;
    const int adder = thread % Tile::kAdders;
    float sum = 0;
#pragma unroll
    for (int s = 0; s < Tile::kSlices / Tile::kAdders; ++s) {
      sum += parts[(s * Tile::kAdders + adder) * Tile::kSliceStride + element];
    }
#pragma unroll
    for (int mask = 1; mask < Tile::kAdders; mask *= 2) {
      sum += shuffle_xor(sum, mask);
    }
    const Index row = block.row + element / Tile::kColumns;
    const Index column = block.column + element % Tile::kColumns;
    if (adder == 0 && row < x.count && column < y.count) {
      finish(sum, row, column);
    }
  }
}

/// The sum of what the splits stored for element `i` of `count`, in their
/// order.
inline __device__ float sum_of_splits(const float* parts, Index i, Index count,
                                      Index splits) {
  float sum = 0;
  for (Index split = 0; split < splits; ++split) {
    sum += parts[split * count + i];
  }
  return sum;
}

}  // namespace cuda
}  // namespace traingraph
