// SPDX-License-Identifier: MIT
// Pooling of images in rows: for each tap of the window all outputs of a plane,
// in vectors. Windows of many samples, which lie mostly in the padding or
// whose sums are long, end in the loops of pool_loop.h. Both keep the same
// state.
#include <limits>
#include <memory>
#include <vector>

#include "base/checked.h"
#include "cpu/cblas/taps.h"
#include "cpu/ops/pool_loop.h"
#include "cpu/parallel.h"
#include "cpu/typed_address.h"

namespace traingraph::cpu {
namespace {

/// Most samples of a window for these loops.
constexpr std::int64_t kMaxTaps = 32;

bool is_small(const PoolWindow& w) {
  return w.kernel_size[0] <= kMaxTaps && w.kernel_size[1] <= kMaxTaps &&
         w.kernel_size[0] * w.kernel_size[1] <= kMaxTaps;
}

struct PoolSizes {
  PoolWindow window;
  std::int64_t planes, height, width, out_height, out_width;

  PoolSizes(const PoolWindow& w, const Shape& in, const Shape& out)
      : window(w),
        planes(in[0] * in[1]),
        height(in[2]),
        width(in[3]),
        out_height(out[2]),
        out_width(out[3]) {}
  std::int64_t in_size() const { return height * width; }
  std::int64_t out_size() const { return out_height * out_width; }
  Tap row_tap(std::int64_t i) const {
    return {window.strides[0], i * window.dilation_rates[0] - window.padding[0],
            height, out_height};
  }
  Tap column_tap(std::int64_t j) const {
    return {window.strides[1], j * window.dilation_rates[1] - window.padding[2],
            width, out_width};
  }
};

/// Calls use(place in the image, place in the outputs, count) for each row of
/// each tap; samples are `strides[1]` apart.
template <class Use>
void for_each_row(const PoolSizes& s, const Use& use) {
  for (std::int64_t i = 0; i < s.window.kernel_size[0]; ++i) {
    const Tap rows = s.row_tap(i);
    for (std::int64_t j = 0; j < s.window.kernel_size[1]; ++j) {
      const Tap columns = s.column_tap(j);
      for (std::int64_t row = rows.begin; row < rows.end; ++row) {
        use((row * rows.stride + rows.offset) * s.width +
                columns.begin * columns.stride + columns.offset,
            row * s.out_width + columns.begin, columns.end - columns.begin);
      }
    }
  }
}

/// Calls f(plane) on the thread pool.
template <class F>
void for_each_plane(const PoolSizes& s, const F& f) {
  const std::int64_t work =
      s.out_size() * s.window.kernel_size[0] * s.window.kernel_size[1];
  parallel_for(
      s.planes, std::max<std::int64_t>(1, kCheapGrain / work),
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t plane = begin; plane < end; ++plane) f(plane);
      },
      /*multiple=*/1);
}

/// Where in the image the sample of each tap and output is; -1 in the padding.
/// Rows of small images are shorter than vectors, a plane is not.
using Places = std::vector<std::int32_t>;

Places find_places(const PoolSizes& s) {
  const Pair& kernel = s.window.kernel_size;
  Places places(kernel[0] * kernel[1] * s.out_size(), -1);
  std::int64_t tap = 0;
  for (std::int64_t i = 0; i < kernel[0]; ++i) {
    const Tap rows = s.row_tap(i);
    for (std::int64_t j = 0; j < kernel[1]; ++j, ++tap) {
      const Tap columns = s.column_tap(j);
      for (std::int64_t row = rows.begin; row < rows.end; ++row) {
        for (auto column = columns.begin; column < columns.end; ++column) {
          places[tap * s.out_size() + row * s.out_width + column] =
              static_cast<std::int32_t>(
                  (row * rows.stride + rows.offset) * s.width +
                  column * columns.stride + columns.offset);
        }
      }
    }
  }
  return places;
}

/// A NaN wins; of equals the first.
void max_pool(const PoolSizes& s, const Places& places, const float* x,
              float* y, std::int32_t* state) {
  const auto size = static_cast<std::int32_t>(s.out_size());
  for_each_plane(s, [&](std::int64_t plane) {
    const float* const image = x + plane * s.in_size();
    float* const best = y + plane * s.out_size();
    std::int32_t* const winner = state + plane * s.out_size();
    std::fill_n(best, size, -std::numeric_limits<float>::infinity());
    std::fill_n(winner, size, -1);
    for (std::size_t tap = 0; tap < places.size(); tap += size) {
      const std::int32_t* const at = places.data() + tap;
#pragma omp simd
      for (std::int32_t k = 0; k < size; ++k) {
        const std::int32_t place = at[k], first = winner[k];
        const float sample = image[place < 0 ? 0 : place], old = best[k];
        const bool is_larger = sample > old, is_first = first < 0;
        const bool is_nan = sample != sample, was_number = old == old;
        const bool wins =
            (place >= 0) & (is_first | is_larger | (is_nan & was_number));
        best[k] = wins ? sample : old;
        winner[k] = wins ? place : first;
      }
    }
  });
}

void max_pool_gradient(const PoolSizes& s, const float* gradient,
                       const std::int32_t* state, float* dx) {
  for_each_plane(s, [&](std::int64_t plane) {
    float* const to = dx + plane * s.in_size();
    const float* const from = gradient + plane * s.out_size();
    const std::int32_t* const winner = state + plane * s.out_size();
    std::fill_n(to, s.in_size(), 0.0f);
    for (std::int64_t k = 0; k < s.out_size(); ++k) to[winner[k]] += from[k];
  });
}

/// The samples that each output divides by.
std::vector<float> find_counts(const PoolSizes& s, bool counts_padding) {
  std::vector<float> counts(s.out_size());
  const Pair& kernel = s.window.kernel_size;
  if (counts_padding) {
    std::ranges::fill(counts, static_cast<float>(kernel[0] * kernel[1]));
    return counts;
  }
  for_each_row(s, [&](auto, auto to, auto count) {
    for (std::int64_t k = 0; k < count; ++k) ++counts[to + k];
  });
  return counts;
}

void average_pool(const PoolSizes& s, const float* counts, const Places& places,
                  const float* x, float* y) {
  const auto size = static_cast<std::int32_t>(s.out_size());
  for_each_plane(s, [&](std::int64_t plane) {
    const float* const image = x + plane * s.in_size();
    float* const sum = y + plane * s.out_size();
    std::fill_n(sum, size, 0.0f);
    for (std::size_t tap = 0; tap < places.size(); tap += size) {
      const std::int32_t* const at = places.data() + tap;
#pragma omp simd
      for (std::int32_t k = 0; k < size; ++k) {
        const float sample = image[at[k] < 0 ? 0 : at[k]];
        sum[k] += at[k] < 0 ? 0.0f : sample;
      }
    }
#pragma omp simd
    for (std::int32_t k = 0; k < size; ++k) sum[k] /= counts[k];
  });
}

void average_pool_gradient(const PoolSizes& s, const float* counts,
                           const Places& /*places*/, const float* gradient,
                           float* dx) {
  for_each_plane(s, [&](std::int64_t plane) {
    const float* const from = gradient + plane * s.out_size();
    float* const image = dx + plane * s.in_size();
    std::fill_n(image, s.in_size(), 0.0f);
    const std::int64_t step = s.window.strides[1];
    for_each_row(s, [=](auto to, auto at, auto count) {
#pragma omp simd
      for (std::int64_t k = 0; k < count; ++k) {
        image[to + k * step] += from[at + k] / counts[at + k];
      }
    });
  });
}

std::size_t state_bytes(const PoolSizes& s) {
  return checked_bytes<std::int32_t>(s.planes * s.out_size(), "state");
}

/// Emits run(sizes, counts, places, input 0, result 0).
template <class Run>
void lower_average(UnitBuilder& unit, const PoolSizes& sizes,
                   bool counts_padding, Run run) {
  const int in = unit.read(0), out = unit.write(0);
  const auto counts = std::make_shared<const std::vector<float>>(
      find_counts(sizes, counts_padding));
  const auto places = std::make_shared<const Places>(find_places(sizes));
  emit(unit, [=](BindContext& at) -> BoundKernel {
    return [=, from = floats(at[in]), to = floats(at[out])] {
      run(sizes, counts->data(), *places, from, to);
    };
  });
}

}  // namespace

void lower_max_pool_2d(UnitBuilder& unit) {
  const PoolWindow window = window_of(unit.attrs<Pool2dAttrs>());
  if (!is_small(window)) return lower_max_pool_loop(unit, window);
  const PoolSizes sizes(window, unit.input_shape(0), unit.result_shape());
  const int in = unit.read(0), out = unit.write(0),
            state = unit.write_opaque(1, state_bytes(sizes));
  const auto places = std::make_shared<const Places>(find_places(sizes));
  emit(unit, [=](BindContext& at) -> BoundKernel {
    return [sizes, places, x = floats(at[in]), y = floats(at[out]),
            state = typed<std::int32_t>(at[state])] {
      max_pool(sizes, *places, x, y, state);
    };
  });
}

void lower_max_pool_2d_gradient(UnitBuilder& unit) {
  const PoolSizes sizes(window_of(unit.attrs<Pool2dAttrs>()),
                        unit.result_shape(), unit.input_shape(0));
  const int in = unit.read(0);
  const int state = unit.read_opaque(2, OpKind::MaxPool2d, state_bytes(sizes));
  const int out = unit.write(0);
  emit(unit, [=](BindContext& at) -> BoundKernel {
    return [sizes, gradient = floats(at[in]), dx = floats(at[out]),
            state = typed<std::int32_t>(at[state])] {
      max_pool_gradient(sizes, gradient, state, dx);
    };
  });
}

void lower_average_pool_2d(UnitBuilder& unit) {
  const auto& attrs = unit.attrs<AveragePool2dAttrs>();
  const PoolWindow window = window_of(attrs);
  const bool counts_padding = attrs.count_includes_padding;
  if (!is_small(window)) {
    return lower_average_pool_loop(unit, window, counts_padding);
  }
  lower_average(unit,
                PoolSizes(window, unit.input_shape(0), unit.result_shape()),
                counts_padding, average_pool);
}

void lower_average_pool_2d_gradient(UnitBuilder& unit) {
  const auto& attrs = unit.attrs<AveragePool2dGradientAttrs>();
  const PoolWindow window = window_of(attrs);
  const bool counts_padding = attrs.count_includes_padding;
  if (!is_small(window)) {
    return lower_average_pool_gradient_loop(unit, window, counts_padding);
  }
  lower_average(unit,
                PoolSizes(window, unit.result_shape(), unit.input_shape(0)),
                counts_padding, average_pool_gradient);
}

}  // namespace traingraph::cpu
