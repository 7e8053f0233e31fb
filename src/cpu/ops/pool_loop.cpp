// SPDX-License-Identifier: MIT
// Pooling by plain loops. Images are independent, so threads take whole ones
// and gradients need no atomics.
#include "cpu/ops/pool_loop.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "cpu/parallel.h"
#include "cpu/typed_address.h"

namespace traingraph::cpu {
namespace {

struct Geometry {
  PoolWindow window;
  std::int64_t images, height, width, out_height, out_width;

  std::int64_t in_size() const { return height * width; }
  std::int64_t out_size() const { return out_height * out_width; }
};

Geometry geometry(const PoolWindow& window, const Shape& in, const Shape& out) {
  return {window, in[0] * in[1], in[2], in[3], out[2], out[3]};
}

/// Of max pooling: which sample won each window.
std::size_t state_bytes(const Geometry& g) {
  return checked_bytes<std::int32_t>(g.images * g.out_size(), "state");
}

/// The samples of one axis that a window reads: first, first + step, ...
struct Taps {
  std::int64_t first, count, step;

  /// Of window `at` on axis `axis` with `size` samples.
  Taps(const PoolWindow& w, int axis, std::int64_t at, std::int64_t size)
      : step(w.dilation_rates[axis]) {
    const std::int64_t start = at * w.strides[axis] - w.padding[2 * axis];
    const std::int64_t skipped = start < 0 ? (-start + step - 1) / step : 0;
    first = start + skipped * step;
    const std::int64_t inside =
        first < size ? (size - 1 - first) / step + 1 : 0;
    count = std::clamp<std::int64_t>(w.kernel_sizes[axis] - skipped, 0, inside);
  }
};

/// The samples of output (row, column) that lie in the image; never none.
struct Window {
  Taps rows, columns;
  std::int64_t width;

  Window(const Geometry& g, std::int64_t row, std::int64_t column)
      : rows(g.window, 0, row, g.height),
        columns(g.window, 1, column, g.width),
        width(g.width) {}
  std::int64_t count() const { return rows.count * columns.count; }
  std::int64_t first() const { return rows.first * width + columns.first; }

  /// Calls visit(position) in row-major order.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::int64_t i = 0; i < rows.count; ++i) {
      const std::int64_t row = (rows.first + i * rows.step) * width;
      for (std::int64_t j = 0; j < columns.count; ++j) {
        visit(row + columns.first + j * columns.step);
      }
    }
  }
};

double sum_of(const Window& window, const float* image) {
  const auto [first, count, step] = window.columns;
  double sum = 0;
  for (std::int64_t i = 0; i < window.rows.count; ++i) {
    const float* row =
        image + (window.rows.first + i * window.rows.step) * window.width +
        first;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t j = 0; j < count; ++j) sum += row[j * step];
  }
  return sum;
}

/// Calls use(image, output position, row, column) for every output.
template <class Use>
void for_outputs(const Geometry& g, Use use) {
  parallel_for(
      g.images, std::max<std::int64_t>(1, kCostlyGrain / g.out_size()),
      [&](auto begin, auto end) {
        for (auto image = begin; image < end; ++image) {
          for (std::int64_t at = 0; at < g.out_size(); ++at) {
            use(image, at, at / g.out_width, at % g.out_width);
          }
        }
      },
      /*multiple=*/1);
}

/// What an average divides by.
float divisor(const Geometry& g, const Window& window, bool counts_padding) {
  if (counts_padding) {
    const Pair& kernel = g.window.kernel_sizes;
    return static_cast<float>(kernel[0] * kernel[1]);
  }
  return static_cast<float>(window.count());
}

void clear(float* values, std::int64_t n) {
  parallel_for(n, kCheapGrain, [&](auto begin, auto end) {
    std::fill(values + begin, values + end, 0.0f);
  });
}

/// Of two samples; a NaN wins.
bool wins(float later, float earlier) {
  return later > earlier || (std::isnan(later) && !std::isnan(earlier));
}

/// Of the samples that `sample_at` gives for a position.
template <class SampleAt>
std::int64_t winner_of(const Window& window, SampleAt sample_at) {
  std::int64_t winner = window.first();
  window.for_each([&](std::int64_t at) {
    if (wins(sample_at(at), sample_at(winner))) winner = at;
  });
  return winner;
}

}  // namespace

NonFiniteMaxPool::Place::Place(const dnnl::memory::desc& layout)
    : channels(layout.get_dims()[1]),
      height(layout.get_dims()[2]),
      width(layout.get_dims()[3]),
      per_image(layout.get_strides()[0]),
      per_block(layout.get_strides()[1]),
      block(layout.get_inner_nblks() == 0 ? 1 : layout.get_inner_blks()[0]),
      per_row(layout.get_strides()[2]),
      per_column(layout.get_strides()[3]) {}

std::int64_t NonFiniteMaxPool::Place::operator()(std::int64_t image,
                                                 std::int64_t position) const {
  const std::int64_t channel = image % channels;
  return image / channels * per_image + channel / block * per_block +
         channel % block + position / width * per_row +
         position % width * per_column;
}

NonFiniteMaxPool::NonFiniteMaxPool(const PoolWindow& window,
                                   const dnnl::memory::desc& x,
                                   const dnnl::memory::desc& y)
    : window_(window),
      images_(x.get_dims()[0] * x.get_dims()[1]),
      x_(x),
      y_(y) {}

void NonFiniteMaxPool::operator()(const float* x, float* y) const {
  const Geometry g{window_, images_, x_.height, x_.width, y_.height, y_.width};
  for_outputs(g, [&](auto image, auto to, auto row, auto column) {
    const auto sample_at = [&](auto at) { return x[x_(image, at)]; };
    y[y_(image, to)] = sample_at(winner_of(Window(g, row, column), sample_at));
  });
}

void lower_max_pool_loop(NodeLowering& lowering, const PoolWindow& window) {
  const Geometry g =
      geometry(window, lowering.input_shape(0), lowering.result_shape());
  const int in = lowering.read(0), out = lowering.write(0);
  const int winners = lowering.write_opaque(1, state_bytes(g));
  lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
    return [g, x = floats(at[in]), y = floats(at[out]),
            state = typed<std::int32_t>(at[winners])] {
      for_outputs(g, [&](auto image, auto to, auto row, auto column) {
        const float* source = x + image * g.in_size();
        const auto winner = winner_of(Window(g, row, column),
                                      [&](auto at) { return source[at]; });
        const auto index = image * g.out_size() + to;
        y[index] = source[winner];
        state[index] = static_cast<std::int32_t>(winner);
      });
    };
  });
}

void lower_max_pool_gradient_loop(NodeLowering& lowering) {
  const Geometry g =
      geometry({}, lowering.result_shape(), lowering.input_shape(0));
  const int in = lowering.read(0);
  const int winners =
      lowering.read_opaque(2, OpKind::MaxPool2d, state_bytes(g));
  const int out = lowering.write(0);
  lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
    return [g, gradient = floats(at[in]), dx = floats(at[out]),
            state = typed<std::int32_t>(at[winners])] {
      clear(dx, g.images * g.in_size());
      for_outputs(g, [&](auto image, auto from, auto, auto) {
        const auto index = image * g.out_size() + from;
        dx[image * g.in_size() + state[index]] += gradient[index];
      });
    };
  });
}

void lower_average_pool_loop(NodeLowering& lowering, const PoolWindow& window,
                             bool counts_padding) {
  const Geometry g =
      geometry(window, lowering.input_shape(0), lowering.result_shape());
  const int in = lowering.read(0), out = lowering.write(0);
  lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
    return [g, counts_padding, x = floats(at[in]), y = floats(at[out])] {
      for_outputs(g, [&](auto image, auto to, auto row, auto column) {
        const float* source = x + image * g.in_size();
        const Window window(g, row, column);
        y[image * g.out_size() + to] = static_cast<float>(
            sum_of(window, source) / divisor(g, window, counts_padding));
      });
    };
  });
}

void lower_average_pool_gradient_loop(NodeLowering& lowering,
                                      const PoolWindow& window,
                                      bool counts_padding) {
  const Geometry g =
      geometry(window, lowering.result_shape(), lowering.input_shape(0));
  const int in = lowering.read(0), out = lowering.write(0);
  lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
    return
        [g, counts_padding, gradient = floats(at[in]), dx = floats(at[out])] {
          clear(dx, g.images * g.in_size());
          for_outputs(g, [&](auto image, auto from, auto row, auto column) {
            const Window window(g, row, column);
            const float share = gradient[image * g.out_size() + from] /
                                divisor(g, window, counts_padding);
            float* target = dx + image * g.in_size();
            window.for_each([&](std::int64_t to) { target[to] += share; });
          });
        };
  });
}

}  // namespace traingraph::cpu
