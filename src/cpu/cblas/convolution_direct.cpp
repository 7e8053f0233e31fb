// SPDX-License-Identifier: MIT
// Convolutions of stride 1 without columns: loops of ours read a padded copy of
// the image (direct_tiles.h), strip by strip (direct_strips.h). As products
// they would be written as columns and packed by the CBLAS, both as often as
// there are weights of a filter.
#include <algorithm>
#include <vector>

#include "base/checked.h"
#include "cpu/cblas/bias_gradient.h"
#include "cpu/cblas/convolution.h"
#include "cpu/cblas/convolution_tiles.h"
#include "cpu/cblas/direct_strips.h"
#include "cpu/cblas/direct_tiles.h"
#include "cpu/cblas/emit_forward.h"
#include "cpu/cblas/epilogue.h"
#include "cpu/cblas/tasks.h"
#include "cpu/primitive_threads.h"
#include "cpu/typed_address.h"

namespace traingraph::cpu {
namespace {

struct DirectForward {
  ConvolutionSizes sizes;
  int num_workers;
  direct::Strips strips;
  std::int64_t out_blocks, most_positions;
  TileSpace space;  // the padded strip, and rows of results
  Epilogue epilogue = {};

  DirectForward(const ConvolutionSizes& s, int workers)
      : sizes(s),
        num_workers(workers),
        strips(s, workers),
        out_blocks(blocks_for(strips.count() * s.groups, workers, s.out)),
        most_positions(
            round_up(strips.positions(strips.most_rows()), direct::kBlock)),
        space{s.in * strips.plane() + direct::kBlock, s.out * most_positions} {}

  void run(std::atomic<std::int64_t>& next, const float* x,
           const float* weights, const float* bias, float* y,
           float* scratch) const {
    run_tasks(next, strips.count() * sizes.groups * out_blocks, num_workers,
              [&](std::int64_t index, int worker) {
                const std::int64_t block = index % out_blocks;
                const std::int64_t group = index / out_blocks % sizes.groups;
                run_strip(strips[index / out_blocks / sizes.groups], group,
                          ChannelBlock::of(sizes.out, block, out_blocks), x,
                          weights, bias, y, space.columns_at(scratch, worker),
                          space.rows_at(scratch, worker));
              });
  }

  void run_strip(const direct::Strip& strip, std::int64_t group,
                 const ChannelBlock& out, const float* x, const float* weights,
                 const float* bias, float* y, float* padded,
                 float* results) const {
    if (strip.rows() <= 0) return;
    const ConvolutionSizes& s = sizes;
    const std::int64_t source = (strip.image * s.groups + group) * s.in;
    const std::int64_t first = group * s.out + out.begin;
    const direct::Filters filters{weights + first * s.depth(), s.depth()};
    vectorized_by_width([&]<int kFloats>(VectorWidth<kFloats>) {
      strips.pad(strip, x + source * s.in_size(), padded);
      direct::tiles<kFloats>(out.count(), strips.positions(strip.rows()),
                             s.depth(), filters, padded, strips.offsets(),
                             results, most_positions);
    });
    for (std::int64_t i = 0; i < out.count(); ++i) {
      const std::int64_t channel = strip.image * s.groups * s.out + first + i;
      const float add = bias ? bias[first + i] : 0;
      finish(epilogue, strip.rows(), s.out_width, results + i * most_positions,
             strips.width(),
             y + channel * s.out_size() + strip.begin * s.out_width,
             s.out_width, [add](auto, auto) { return add; });
    }
  }
};

/// weights (groups * out, in, taps) -> (groups * in, out, taps backwards)
void turn_filters(const ConvolutionSizes& s, const float* weights, float* to) {
  const std::int64_t taps = s.taps();
  parallel_for(
      s.groups * s.in, std::max<std::int64_t>(1, kCheapGrain / (s.out * taps)),
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
          const std::int64_t group = row / s.in, in = row % s.in;
          for (std::int64_t o = 0; o < s.out; ++o) {
            const float* const from =
                weights + ((group * s.out + o) * s.in + in) * taps;
            float* const turned = to + (row * s.out + o) * taps;
            for (std::int64_t i = 0; i < taps; ++i) {
              turned[i] = from[taps - 1 - i];
            }
          }
        }
      },
      /*multiple=*/1);
}

struct DirectWeightsGradient {
  ConvolutionSizes sizes;
  direct::Strips strips;
  std::int64_t rows_at_once;  // of gradients in the first cache
  int num_parts;              // a worker and sums for each
  TileSpace space;            // the padded strip, and panels of gradients

  DirectWeightsGradient(const ConvolutionSizes& s, int workers)
      : sizes(s),
        strips(s, workers),
        rows_at_once(std::max<std::int64_t>(direct::kTerms / s.out_width, 1)),
        num_parts(static_cast<int>(
            std::min({std::int64_t{workers}, strips.count(),
                      std::max<std::int64_t>(kMaxSums / num_sums(), 1)}))),
        space{s.in * strips.plane(), panel() * num_panels()} {}

  std::int64_t num_panels() const { return (sizes.out + kPanel - 1) / kPanel; }
  /// Floats of the gradients of kPanel channels in a strip.
  std::int64_t panel() const {
    return strips.most_rows() * sizes.out_width * kPanel;
  }
  /// Sums of a part: a row of channels for each weight of a group's filters.
  std::int64_t num_sums() const {
    return sizes.groups * sizes.depth() * num_panels() * kPanel;
  }

  void run(const float* gradient, const float* x, float* dw, float* sums,
           float* scratch) const {
    const auto work = [&](int part) {
      float* const own = sums + part * num_sums();
      std::fill_n(own, num_sums(), 0.0f);
      const Part share(strips.count(), part, num_parts, /*multiple=*/1);
      for (std::int64_t i = share.begin; i < share.end; ++i) {
        for (std::int64_t group = 0; group < sizes.groups; ++group) {
          add_strip(strips[i], group, gradient, x, own,
                    space.columns_at(scratch, part),
                    space.rows_at(scratch, part));
        }
      }
    };
    run_workers(num_parts, work);
    const std::int64_t depth = sizes.depth();
    parallel_for(
        sizes.groups * num_panels(), 1,
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t group = i / num_panels();
            collect(sums + group * depth * num_panels() * kPanel,
                    i % num_panels() * kPanel, dw + group * sizes.out * depth);
          }
        },
        /*multiple=*/1);
  }

  /// Sums of all parts of up to kPanel filters from `first` on, as filters.
  void collect(const float* sums, std::int64_t first, float* dw) const {
    const std::int64_t count = std::min(kPanel, sizes.out - first);
    for (std::int64_t k = 0; k < sizes.depth(); ++k) {
      const float* const row = sums + k * num_panels() * kPanel + first;
      float total[kPanel] = {};
      for (int part = 0; part < num_parts; ++part) {
        for (std::int64_t o = 0; o < kPanel; ++o) {
          total[o] += row[part * num_sums() + o];
        }
      }
      for (std::int64_t o = 0; o < count; ++o) {
        dw[(first + o) * sizes.depth() + k] = total[o];
      }
    }
  }

  void add_strip(const direct::Strip& strip, std::int64_t group,
                 const float* gradient, const float* x, float* sums,
                 float* padded, float* panels) const {
    if (strip.rows() <= 0) return;
    const ConvolutionSizes& s = sizes;
    const std::int64_t row = num_panels() * kPanel;
    const std::int64_t source = (strip.image * s.groups + group) * s.in;
    const float* const from =
        gradient + (strip.image * s.groups + group) * s.out * s.out_size() +
        strip.begin * s.out_width;
    vectorized_by_width([&]<int kFloats>(VectorWidth<kFloats>) {
      strips.pad(strip, x + source * s.in_size(), padded);
      for (std::int64_t i = 0; i < num_panels(); ++i) {
        pack_transposed_panel(from + i * kPanel * s.out_size(), s.out_size(),
                              std::min(kPanel, s.out - i * kPanel),
                              strip.rows() * s.out_width, panels + i * panel());
      }
      for (std::int64_t i = 0; i < strip.rows(); i += rows_at_once) {
        const direct::GradientRows rows{
            .image = padded + i * strips.width(),
            .image_row = strips.width(),
            .panels = panels + i * s.out_width * kPanel,
            .panel = panel(),
            .rows = std::min(rows_at_once, strip.rows() - i),
            .width = s.out_width};
        direct::gradient_tiles<kFloats>(rows, s.depth(), num_panels(),
                                        strips.offsets(),
                                        sums + group * s.depth() * row, row);
      }
    });
  }

 private:
  static constexpr std::int64_t kMaxSums = std::int64_t{1} << 24;
};

int scratch_floats(UnitBuilder& unit, std::int64_t count) {
  return unit.scratch(checked_bytes<float>(count, "scratch"));
}

}  // namespace

void lower_direct(UnitBuilder& unit, const ConvolutionSizes& sizes) {
  emit_forward(unit, DirectForward(sizes, PrimitiveThreads::count()));
}

void lower_direct_input_gradient(UnitBuilder& unit,
                                 const ConvolutionSizes& sizes) {
  const DirectForward backward(direct::turned(sizes),
                               PrimitiveThreads::count());
  const int gradient = unit.read(0), weights = unit.read(1), dx = unit.write(0),
            filters =
                scratch_floats(unit, sizes.groups * sizes.out * sizes.depth()),
            scratch = unit.scratch(backward.space.bytes(backward.num_workers));
  emit(unit, [=](BindContext& at) -> BoundKernel {
    return [sizes, backward, next = make_counter(),
            gradient = floats(at[gradient]), weights = floats(at[weights]),
            dx = floats(at[dx]), filters = floats(at[filters]),
            scratch = floats(at[scratch])] {
      turn_filters(sizes, weights, filters);
      backward.run(*next, gradient, filters, nullptr, dx, scratch);
    };
  });
}

void lower_direct_weights_gradient(UnitBuilder& unit,
                                   const ConvolutionSizes& sizes) {
  const DirectWeightsGradient backward(sizes, PrimitiveThreads::count());
  const int bias = fuse_bias_gradient(unit);
  const int gradient = unit.read(0), x = unit.read(1), dw = unit.write(0),
            scratch = unit.scratch(backward.space.bytes(backward.num_parts)),
            sums =
                scratch_floats(unit, backward.num_sums() * backward.num_parts);
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
