// SPDX-License-Identifier: MIT
#include "cpu/onednn/depthwise_gradient.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <type_traits>

#include "base/checked.h"
#include "base/divide_up.h"
#include "cpu/float_types.h"
#include "cpu/parallel.h"
#include "cpu/typed_address.h"
#include "lowering/plans/norm_plan.h"

namespace traingraph::cpu {
namespace {

constexpr int kLanes = 16;
/// What images are cut into, with the channels, whatever threads there are.
constexpr std::int64_t kEnoughTasks = 64;

typedef float Lanes __attribute__((vector_size(kLanes * sizeof(float))));

/// The outputs [begin, end) of one axis for which a tap reads a sample of the
/// image: the one at out * stride + offset.
struct AxisTap {
  std::int64_t begin, end, stride, offset;

  AxisTap(std::int64_t tap, std::int64_t stride, std::int64_t dilation,
          std::int64_t before, std::int64_t in, std::int64_t out)
      : stride(stride), offset(tap * dilation - before) {
    begin = std::min(out, offset < 0 ? divide_up(-offset, stride) : 0);
    end = offset >= in ? begin
                       : std::clamp(divide_up(in - offset, stride), begin, out);
  }
};

/// Where the channels of an image are: in groups of `width`, side by side.
struct LaneView {
  std::int64_t groups, width;

  static std::optional<LaneView> of(const Layout& layout) {
    const auto view = ChannelView::of(layout);
    if (!view || view->width < kLanes / 2) return {};
    return LaneView{view->groups, view->width};
  }
  std::int64_t blocks_per_group() const { return divide_up(width, kLanes); }
  std::int64_t num_blocks() const { return groups * blocks_per_group(); }
};

struct Sizes {
  Convolution2dGradientAttrs attrs;
  std::array<std::int64_t, 2> in, out, kernel;
  std::int64_t images, channels;
  LaneView view;

  std::int64_t taps() const { return kernel[0] * kernel[1]; }
  /// Sums of a block: of its taps, and of its gradients.
  std::int64_t sums() const { return (taps() + 1) * kLanes; }
  std::int64_t num_chunks() const {
    return std::min(images, divide_up(kEnoughTasks, view.num_blocks()));
  }
  AxisTap tap(int axis, std::int64_t index) const {
    return {index,
            attrs.strides[axis],
            attrs.dilation_rates[axis],
            attrs.padding[2 * axis],
            in[static_cast<std::size_t>(axis)],
            out[static_cast<std::size_t>(axis)]};
  }
};

/// Up to kLanes channels of one group.
struct ChannelBlock {
  std::int64_t group, first, lanes;

  ChannelBlock(const LaneView& view, std::int64_t index)
      : group(index / view.blocks_per_group()),
        first(index % view.blocks_per_group() * kLanes),
        lanes(std::min<std::int64_t>(kLanes, view.width - first)) {}
};

// Lanes are returned by reference: the code of a function that returns them
// depends on the processor.
template <bool kIsWhole, class T>
inline void load(const T* from, std::int64_t lanes, Lanes& to) {
  if constexpr (kIsWhole && std::is_same_v<T, float>) {
    std::memcpy(&to, from, sizeof(to));
  } else {
    to = Lanes{};
    const std::int64_t n = kIsWhole ? kLanes : lanes;
    for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(from[i]);
  }
}

/// sums += the terms of a row, which add_term(k, sum) adds to several sums that
/// do not wait for each other.
template <class AddTerm>
inline void add_row(std::int64_t begin, std::int64_t end,
                    const AddTerm& add_term, double* sums) {
  Lanes a{}, b{}, c{}, d{};
  std::int64_t k = begin;
  for (; k + 4 <= end; k += 4) {
    add_term(k, a);
    add_term(k + 1, b);
    add_term(k + 2, c);
    add_term(k + 3, d);
  }
  for (; k < end; ++k) add_term(k, a);
  const Lanes row = (a + b) + (c + d);
  alignas(64) float values[kLanes];
  std::memcpy(values, &row, sizeof(row));
#pragma omp simd
  for (int i = 0; i < kLanes; ++i) sums[i] += values[i];
}

/// Adds one image's products of a block to its sums.
template <bool kIsWhole, class T>
void add_image(const Sizes& s, std::int64_t lanes, const T* gradient,
               const T* x, double* sums) {
  const std::int64_t width = s.view.width;
  for (std::int64_t row = 0; row < s.out[0]; ++row) {
    const T* const from = gradient + row * s.out[1] * width;
    const auto add_gradient = [&](std::int64_t k, Lanes& sum) {
      Lanes dy;
      load<kIsWhole>(from + k * width, lanes, dy);
      sum += dy;
    };
    add_row(0, s.out[1], add_gradient, sums + s.taps() * kLanes);
    for (std::int64_t i = 0; i < s.kernel[0]; ++i) {
      const AxisTap rows = s.tap(0, i);
      if (row < rows.begin || row >= rows.end) continue;
      const T* const image =
          x + (row * rows.stride + rows.offset) * s.in[1] * width;
      for (std::int64_t j = 0; j < s.kernel[1]; ++j) {
        const AxisTap columns = s.tap(1, j);
        const T* const first = image + columns.offset * width;
        const std::int64_t step = columns.stride * width;
        const auto add_product = [&](std::int64_t k, Lanes& sum) {
          Lanes dy, sample;
          load<kIsWhole>(from + k * width, lanes, dy);
          load<kIsWhole>(first + k * step, lanes, sample);
          sum += dy * sample;
        };
        add_row(columns.begin, columns.end, add_product,
                sums + (i * s.kernel[1] + j) * kLanes);
      }
    }
  }
}

/// Where the gradient of the bias goes; null: there is none.
struct BiasSums {
  DataType type;
  std::byte* at;

  void store(std::int64_t channel, float sum) const {
    visit_float_type(
        type, [&]<class T>(T) { typed<T>(at)[channel] = static_cast<T>(sum); });
  }
};

template <class T>
void run(const Sizes& s, const T* gradient, const T* x, double* sums, float* dw,
         const BiasSums& db) {
  const std::int64_t blocks = s.view.num_blocks(), chunks = s.num_chunks();
  const auto begin_of = [&](std::int64_t n, const ChannelBlock& block,
                            const std::array<std::int64_t, 2>& size) {
    return (n * s.view.groups + block.group) * size[0] * size[1] *
               s.view.width +
           block.first;
  };
  parallel_for(
      blocks * chunks, 1,
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t task = begin; task < end; ++task) {
          const ChannelBlock block(s.view, task % blocks);
          const std::int64_t chunk = task / blocks;
          double* const own = sums + task * s.sums();
          std::fill_n(own, s.sums(), 0.0);
          for (std::int64_t n = s.images * chunk / chunks;
               n < s.images * (chunk + 1) / chunks; ++n) {
            const T* const dy = gradient + begin_of(n, block, s.out);
            const T* const image = x + begin_of(n, block, s.in);
            if (block.lanes == kLanes) {
              add_image<true>(s, kLanes, dy, image, own);
            } else {
              add_image<false>(s, block.lanes, dy, image, own);
            }
          }
        }
      },
      /*multiple=*/1);
  parallel_for(
      blocks, std::max<std::int64_t>(1, kCheapGrain / (s.sums() * chunks)),
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t index = begin; index < end; ++index) {
          const ChannelBlock block(s.view, index);
          const std::int64_t channel = block.group * s.view.width + block.first;
          const std::int64_t lanes =
              std::min(block.lanes, s.channels - channel);
          for (std::int64_t i = 0; i < lanes * (s.taps() + 1); ++i) {
            const std::int64_t lane = i / (s.taps() + 1);
            const std::int64_t tap = i % (s.taps() + 1);
            double sum = 0;
            for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
              sum += sums[(chunk * blocks + index) * s.sums() + tap * kLanes +
                          lane];
            }
            const auto value = static_cast<float>(sum);
            if (tap < s.taps()) {
              dw[(channel + lane) * s.taps() + tap] = value;
            } else if (db.at) {
              db.store(channel + lane, value);
            }
          }
        }
      },
      /*multiple=*/1);
}

/// That of the gradient or of x where it has lanes; else channels last.
Layout layout_of_lanes(const UnitBuilder& unit) {
  for (const int input : {0, 1}) {
    const Layout layout = unit.layout(input);
    if (LaneView::of(layout)) return layout;
  }
  return Layout::channels_last(to_sizes(unit.input_shape(0)),
                               unit.input_desc(0).data_type);
}

}  // namespace

bool is_depthwise_weights_gradient(const UnitBuilder& unit) {
  const auto& attrs = unit.attrs<Convolution2dGradientAttrs>();
  const std::int64_t channels = unit.input_shape(1)[1];
  const DataType type = unit.input_desc(1).data_type;
  return attrs.groups == channels && unit.input_shape(0)[1] == channels &&
         channels >= kLanes / 2 && is_float(type) &&
         unit.input_desc(0).data_type == type &&
         unit.result_desc().data_type == DataType::Float32;
}

void lower_depthwise_weights_gradient(UnitBuilder& unit) {
  const Shape &gradient_shape = unit.input_shape(0),
              &x_shape = unit.input_shape(1), &w = unit.result_shape();
  const Layout like = layout_of_lanes(unit);
  const Layout gradient_layout = layout_like(like, unit.input_desc(0));
  const Layout x_layout = layout_like(like, unit.input_desc(1));
  const Sizes sizes{.attrs = unit.attrs<Convolution2dGradientAttrs>(),
                    .in = {x_shape[2], x_shape[3]},
                    .out = {gradient_shape[2], gradient_shape[3]},
                    .kernel = {w[2], w[3]},
                    .images = x_shape[0],
                    .channels = x_shape[1],
                    .view = *LaneView::of(gradient_layout)};
  const auto bias = unit.fusion().write_bias_gradient();
  const int gradient = unit.read(0, gradient_layout),
            x = unit.read(1, x_layout), dw = unit.write(0);
  const int sums = unit.scratch(checked_bytes<double>(
      sizes.num_chunks() * sizes.view.num_blocks() * sizes.sums(), "scratch"));
  const DataType bias_type = bias ? bias->data_type : DataType::Float32;
  const int bias_arg = bias ? bias->arg : -1;
  visit_float_type(unit.input_desc(0).data_type, [&]<class T>(T) {
    emit(unit, [=](BindContext& at) -> BoundKernel {
      const BiasSums db{bias_type, bias_arg < 0 ? nullptr : at[bias_arg]};
      return [sizes, gradient = typed<T>(at[gradient]), x = typed<T>(at[x]),
              sums = typed<double>(at[sums]), dw = floats(at[dw]),
              db] { run(sizes, gradient, x, sums, dw, db); };
    });
  });
}

}  // namespace traingraph::cpu
