// SPDX-License-Identifier: MIT
// Convolution and its two gradients: tiles of columns (im2col.h), each a
// product on one thread, sums over them in an order that depends on the number
// of threads alone. Some are loops of ours instead.
#include "cpu/cblas/convolution.h"

#include "cpu/cblas/bias_gradient.h"
#include "cpu/cblas/convolution_tiles.h"
#include "cpu/cblas/direct_strips.h"
#include "cpu/cblas/emit_forward.h"
#include "cpu/cblas/epilogue.h"
#include "cpu/cblas/tasks.h"
#include "cpu/primitive_threads.h"
#include "cpu/typed_address.h"

namespace traingraph::cpu {
namespace {

/// Throws unless the CBLAS can count rows and columns.
void check_sizes(const UnitBuilder& unit, const ConvolutionSizes& s) {
  describe_for_blas(unit, MatrixView::plain(s.out, s.depth()));
  describe_for_blas(unit, MatrixView::plain(s.out, s.out_size()));
  describe_for_blas(unit, MatrixView::plain(s.in, s.in_size()));
}

struct Forward {
  ConvolutionSizes sizes;
  int num_workers;
  ConvolutionTiles tiles;
  std::int64_t out_blocks;
  TileSpace space;
  Epilogue epilogue = {};

  Forward(const ConvolutionSizes& s, int workers)
      : sizes(s),
        num_workers(workers),
        tiles(s, s.depth(), 2 * workers),
        out_blocks(blocks_for(tiles.count() * s.groups, workers, s.out)),
        space{s.is_pointwise() && !tiles.has_whole_images()
                  ? 0
                  : s.depth() * tiles.most_positions(),
              tiles.has_whole_images() ? s.out * tiles.most_positions() : 0} {}

  void run(std::atomic<std::int64_t>& next, const float* x,
           const float* weights, const float* bias, float* y,
           float* scratch) const {
    run_tasks(next, tiles.count() * sizes.groups * out_blocks, num_workers,
              [&](std::int64_t index, int worker) {
                const std::int64_t block = index % out_blocks;
                const std::int64_t group = index / out_blocks % sizes.groups;
                run_tile(tiles[index / out_blocks / sizes.groups], group,
                         ChannelBlock::of(sizes.out, block, out_blocks), x,
                         weights, bias, y, space.columns_at(scratch, worker),
                         space.rows_at(scratch, worker));
              });
  }

  void run_tile(const ConvolutionTile& tile, std::int64_t group,
                const ChannelBlock& out, const float* x, const float* weights,
                const float* bias, float* y, float* columns_space,
                float* rows_space) const {
    const ConvolutionSizes& s = sizes;
    const std::int64_t size = s.out_size(), first = group * s.out + out.begin;
    const BlasOperand columns =
        columns_of(s, x, tile, group, {0, s.in}, columns_space);
    const BlasOperand filters{weights + first * s.depth(), s.depth(), false};
    const auto image = [&](std::int64_t i) {
      return y + ((tile.image + i) * s.groups * s.out + first) * size +
             tile.positions.begin;
    };
    const ProductSize product{out.count(), tile.count(), s.depth()};
    float* const to = tile.images == 1 ? image(0) : rows_space;
    const std::int64_t to_row = tile.images == 1 ? size : tile.count();
    sgemm(product, 1, filters, columns, to, to_row, /*adds=*/false);
    if (tile.images == 1 && epilogue.is_empty()) return;
    for (std::int64_t i = 0; i < tile.images; ++i) {
      const auto end = [&](const auto& add) {
        finish(epilogue, out.count(), tile.positions.count(),
               to + i * tile.positions.count(), to_row, image(i), size, add);
      };
      if (bias) {
        end([of = bias + first](std::int64_t row, auto) { return of[row]; });
      } else {
        end([](auto, auto) { return 0.0f; });
      }
    }
  }
};

struct InputGradient {
  ConvolutionSizes sizes;
  int num_workers;
  ConvolutionTiles tiles;
  std::int64_t in_blocks;
  TileSpace space;

  InputGradient(const ConvolutionSizes& s, int workers)
      : sizes(s),
        num_workers(workers),
        tiles(s, s.depth(), workers),
        in_blocks(blocks_for(tiles.image_groups() * s.groups, workers, s.in)),
        space{s.depth() * tiles.most_positions(),
              tiles.has_whole_images() ? s.out * tiles.most_positions() : 0} {}

  /// A task has all tiles of its images: they overlap.
  void run(std::atomic<std::int64_t>& next, const float* gradient,
           const float* weights, float* dx, float* scratch) const {
    run_tasks(next, tiles.image_groups() * sizes.groups * in_blocks,
              num_workers, [&](std::int64_t index, int worker) {
                const std::int64_t block = index % in_blocks;
                const std::int64_t group = index / in_blocks % sizes.groups;
                const std::int64_t first =
                    index / in_blocks / sizes.groups * tiles.per_image();
                const auto in = ChannelBlock::of(sizes.in, block, in_blocks);
                for (std::int64_t i = 0; i < tiles.per_image(); ++i) {
                  run_tile(tiles[first + i], group, in, gradient, weights, dx,
                           space.columns_at(scratch, worker),
                           space.rows_at(scratch, worker));
                }
              });
  }

  void run_tile(const ConvolutionTile& tile, std::int64_t group,
                const ChannelBlock& in, const float* gradient,
                const float* weights, float* dx, float* columns,
                float* rows_space) const {
    const ConvolutionSizes& s = sizes;
    const BlasOperand rows = rows_of(s, gradient, tile, group, rows_space);
    const BlasOperand filters{
        weights + group * s.out * s.depth() + in.begin * s.taps(), s.depth(),
        true};
    const auto image = [&](std::int64_t i) {
      const std::int64_t channel =
          ((tile.image + i) * s.groups + group) * s.in + in.begin;
      return dx + channel * s.in_size();
    };
    const ProductSize product{in.count() * s.taps(), tile.count(), s.out};
    if (s.is_pointwise() && tile.images == 1) {
      return sgemm(product, 1, filters, rows, image(0) + tile.positions.begin,
                   s.in_size(),
                   /*adds=*/false);
    }
    sgemm(product, 1, filters, rows, columns, tile.count(), /*adds=*/false);
    for (std::int64_t i = 0; i < tile.images; ++i) {
      if (tile.positions.begin == 0) {
        std::fill_n(image(i), in.count() * s.in_size(), 0.0f);
      }
      add_columns(s, columns + i * tile.positions.count(), tile.count(),
                  in.count(), tile.positions, image(i));
    }
  }
};

struct WeightsGradient {
  ConvolutionSizes sizes;
  int tile_parts, in_blocks;  // a worker for each part and block
  ConvolutionTiles tiles;
  TileSpace space;

  WeightsGradient(const ConvolutionSizes& s, int workers)
      : sizes(s),
        tile_parts(1),
        in_blocks(1),
        tiles(s, s.depth(), workers),
        space{s.depth() * tiles.most_positions(),
              tiles.has_whole_images() ? s.out * tiles.most_positions() : 0} {
    // Parts of the tiles have a sum each, blocks of channels have not.
    const std::int64_t sums =
        std::max<std::int64_t>(kMaxSums / num_weights(), 1);
    tile_parts = static_cast<int>(
        std::min({std::int64_t{workers}, tiles.count(), sums}));
    in_blocks = static_cast<int>(
        std::clamp<std::int64_t>(workers / tile_parts, 1, s.in));
  }

  std::int64_t num_weights() const {
    return sizes.groups * sizes.out * sizes.depth();
  }
  /// Sums of all parts but the first, whose sum is the result.
  std::int64_t num_sums() const { return (tile_parts - 1) * num_weights(); }
  int num_workers() const { return tile_parts * in_blocks; }

  void run(const float* gradient, const float* x, float* dw, float* sums,
           float* scratch) const {
    const auto work = [&](int worker) {
      const int part = worker / in_blocks;
      float* const to = part == 0 ? dw : sums + (part - 1) * num_weights();
      const Part own(tiles.count(), part, tile_parts, /*multiple=*/1);
      const auto in = ChannelBlock::of(sizes.in, worker % in_blocks, in_blocks);
      for (std::int64_t i = own.begin; i < own.end; ++i) {
        for (std::int64_t group = 0; group < sizes.groups; ++group) {
          add_tile(tiles[i], group, in, gradient, x, to, i > own.begin,
                   space.columns_at(scratch, worker),
                   space.rows_at(scratch, worker));
        }
      }
    };
    run_workers(num_workers(), work);
    if (tile_parts == 1) return;
    parallel_for(num_weights(), kCheapGrain,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (int part = 1; part < tile_parts; ++part) {
                     const float* from = sums + (part - 1) * num_weights();
                     for (auto i = begin; i < end; ++i) dw[i] += from[i];
                   }
                 });
  }

  void add_tile(const ConvolutionTile& tile, std::int64_t group,
                const ChannelBlock& in, const float* gradient, const float* x,
                float* to, bool adds, float* columns_space,
                float* rows_space) const {
    const ConvolutionSizes& s = sizes;
    const BlasOperand rows = rows_of(s, gradient, tile, group, rows_space);
    BlasOperand columns = columns_of(s, x, tile, group, in, columns_space);
    columns.is_transposed = true;
    sgemm({s.out, in.count() * s.taps(), tile.count()}, 1, rows, columns,
          to + group * s.out * s.depth() + in.begin * s.taps(), s.depth(),
          adds);
  }

 private:
  static constexpr std::int64_t kMaxSums = std::int64_t{1} << 24;
};

}  // namespace

void lower_convolution_2d(UnitBuilder& unit) {
  const ConvolutionSizes sizes(unit.attrs<Convolution2dAttrs>(),
                               unit.input_shape(0), unit.input_shape(1),
                               unit.result_shape());
  if (is_depthwise(sizes)) return lower_depthwise(unit, sizes);
  if (direct::suits(sizes)) return lower_direct(unit, sizes);
  check_sizes(unit, sizes);
  emit_forward(unit, Forward(sizes, PrimitiveThreads::count()));
}

void lower_convolution_2d_input_gradient(UnitBuilder& unit) {
  const ConvolutionSizes sizes(unit.attrs<Convolution2dGradientAttrs>(),
                               unit.result_shape(), unit.input_shape(1),
                               unit.input_shape(0));
  if (is_depthwise(sizes)) {
    return lower_depthwise_input_gradient(unit, sizes);
  }
  if (direct::suits(direct::turned(sizes))) {
    return lower_direct_input_gradient(unit, sizes);
  }
  check_sizes(unit, sizes);
  const InputGradient backward(sizes, PrimitiveThreads::count());
  const int gradient = unit.read(0), weights = unit.read(1), dx = unit.write(0),
            scratch = unit.scratch(backward.space.bytes(backward.num_workers));
  emit(unit, [=](BindContext& at) -> BoundKernel {
    return [backward, next = make_counter(), gradient = floats(at[gradient]),
            weights = floats(at[weights]), dx = floats(at[dx]),
            scratch = floats(at[scratch])] {
      backward.run(*next, gradient, weights, dx, scratch);
    };
  });
}

void lower_convolution_2d_weights_gradient(UnitBuilder& unit) {
  const ConvolutionSizes sizes(unit.attrs<Convolution2dGradientAttrs>(),
                               unit.input_shape(1), unit.result_shape(),
                               unit.input_shape(0));
  if (is_depthwise(sizes)) {
    return lower_depthwise_weights_gradient(unit, sizes);
  }
  if (direct::suits(sizes)) {
    return lower_direct_weights_gradient(unit, sizes);
  }
  check_sizes(unit, sizes);
  const WeightsGradient backward(sizes, PrimitiveThreads::count());
  const int bias = fuse_bias_gradient(unit);
  const int gradient = unit.read(0), x = unit.read(1), dw = unit.write(0),
            scratch =
                unit.scratch(backward.space.bytes(backward.num_workers())),
            sums = unit.scratch(checked_bytes<float>(
                std::max<std::int64_t>(backward.num_sums(), 1), "scratch"));
  emit(unit, [=](BindContext& at) -> BoundKernel {
    return [backward, gradient = floats(at[gradient]), x = floats(at[x]),
            dw = floats(at[dw]), db = bias < 0 ? nullptr : floats(at[bias]),
            scratch = floats(at[scratch]), sums = floats(at[sums])] {
      backward.run(gradient, x, dw, sums, scratch);
      add_up_channels(backward.sizes, gradient, db);
    };
  });
}

}  // namespace traingraph::cpu
