// SPDX-License-Identifier: MIT
// Pooling by plain loops. Images are independent, so threads take whole ones
// and gradients need no atomics.
#include "cpu/ops/pool_loop.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "cpu/ops/elementwise_lowering.h"

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

/// The state of max pooling says which sample won each window.
std::size_t state_bytes(const Geometry& g) {
  return checked_bytes<std::int32_t>(g.images * g.out_size(), "state");
}

/// The samples of one axis that a window reads: first, first + step, ...
struct Taps {
  std::int64_t first, count, step;

  /// The taps of window `at` on axis `axis` with `size` samples.
  Taps(const PoolWindow& w, int axis, std::int64_t at, std::int64_t size)
      : step(w.dilation_rates[axis]) {
    const std::int64_t start = at * w.strides[axis] - w.padding[2 * axis];
    const std::int64_t skipped = start < 0 ? (-start + step - 1) / step : 0;
    first = start + skipped * step;
    const std::int64_t inside =
        first < size ? (size - 1 - first) / step + 1 : 0;
    count = std::clamp<std::int64_t>(w.kernel_size[axis] - skipped, 0, inside);
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

template <class T>
double sum_of(const Window& window, const T* image) {
  // No structured binding: clang's OpenMP cannot take one along.
  const std::int64_t first = window.columns.first, count = window.columns.count,
                     step = window.columns.step;
  double sum = 0;
  for (std::int64_t i = 0; i < window.rows.count; ++i) {
    const T* row = image +
                   (window.rows.first + i * window.rows.step) * window.width +
                   first;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t j = 0; j < count; ++j) {
      sum += static_cast<float>(row[j * step]);
    }
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
    const Pair& kernel = g.window.kernel_size;
    return static_cast<float>(kernel[0] * kernel[1]);
  }
  return static_cast<float>(window.count());
}

void clear(float* values, std::int64_t n) {
  parallel_for(n, kCheapGrain, [&](auto begin, auto end) {
    std::fill(values + begin, values + end, 0.0f);
  });
}

/// Does the later sample win? A NaN does.
bool wins(float later, float earlier) {
  return later > earlier || (std::isnan(later) && !std::isnan(earlier));
}

/// Finds the position whose sample, which `sample_at` gives, wins.
template <class SampleAt>
std::int64_t winner_of(const Window& window, SampleAt sample_at) {
  std::int64_t winner = window.first();
  window.for_each([&](std::int64_t at) {
    if (wins(sample_at(at), sample_at(winner))) winner = at;
  });
  return winner;
}

/// Samples per image, and where a layout has them.
struct Place {
  std::int64_t channels, height, width;
  std::int64_t per_image, per_block, block, per_row, per_column;

  explicit Place(const Layout& layout)
      : channels(layout.sizes()[1]),
        height(layout.sizes()[2]),
        width(layout.sizes()[3]),
        per_image(layout.strides()[0]),
        per_block(layout.strides()[1]),
        block(layout.blocks().empty() ? 1 : layout.blocks()[0].size),
        per_row(layout.strides()[2]),
        per_column(layout.strides()[3]) {}

  std::int64_t operator()(std::int64_t image, std::int64_t position) const {
    const std::int64_t channel = image % channels;
    return image / channels * per_image + channel / block * per_block +
           channel % block + position / width * per_row +
           position % width * per_column;
  }
};

/// Which tap of window (row, column) reads the sample at `position`?
std::int64_t tap_at(const Geometry& g, std::int64_t row, std::int64_t column,
                    std::int64_t position) {
  const PoolWindow& w = g.window;
  const std::int64_t top = row * w.strides[0] - w.padding[0],
                     left = column * w.strides[1] - w.padding[2];
  return (position / g.width - top) / w.dilation_rates[0] * w.kernel_size[1] +
         (position % g.width - left) / w.dilation_rates[1];
}

/// Writes the taps that won as well, unless `taps` is null.
template <class T, class Tap>
void max_pool(const Geometry& g, const Place& x_at, const Place& y_at,
              const T* x, T* y, Tap* taps) {
  for_outputs(g, [&](auto image, auto to, auto row, auto column) {
    const auto sample_at = [&](auto at) { return x[x_at(image, at)]; };
    const auto winner = winner_of(Window(g, row, column), sample_at);
    const std::int64_t place = y_at(image, to);
    y[place] = sample_at(winner);
    if (taps) taps[place] = static_cast<Tap>(tap_at(g, row, column, winner));
  });
}

/// Writes the winners' positions in their images as well.
template <class T>
void max_pool(const Geometry& g, const T* x, T* y, std::int32_t* state) {
  for_outputs(g, [&](auto image, auto to, auto row, auto column) {
    const T* source = x + image * g.in_size();
    const auto winner =
        winner_of(Window(g, row, column), [&](auto at) { return source[at]; });
    const auto index = image * g.out_size() + to;
    y[index] = source[winner];
    state[index] = static_cast<std::int32_t>(winner);
  });
}

/// `sums` as add_sums() gives them; so below.
template <class T>
void max_pool_gradient(const Geometry& g, const T* gradient,
                       const std::int32_t* state, float* sums, T* dx) {
  clear(sums, g.images * g.in_size());
  for_outputs(g, [&](auto image, auto from, auto, auto) {
    const auto index = image * g.out_size() + from;
    sums[image * g.in_size() + state[index]] += gradient[index];
  });
  store_sums(sums, dx, g.images * g.in_size());
}

template <class T>
void average_pool(const Geometry& g, bool counts_padding, const T* x, T* y) {
  for_outputs(g, [&](auto image, auto to, auto row, auto column) {
    const T* source = x + image * g.in_size();
    const Window window(g, row, column);
    y[image * g.out_size() + to] = static_cast<float>(
        sum_of(window, source) / divisor(g, window, counts_padding));
  });
}

template <class T>
void average_pool_gradient(const Geometry& g, bool counts_padding,
                           const T* gradient, float* sums, T* dx) {
  clear(sums, g.images * g.in_size());
  for_outputs(g, [&](auto image, auto from, auto row, auto column) {
    const Window window(g, row, column);
    const float share = gradient[image * g.out_size() + from] /
                        divisor(g, window, counts_padding);
    float* target = sums + image * g.in_size();
    window.for_each([&](std::int64_t to) { target[to] += share; });
  });
  store_sums(sums, dx, g.images * g.in_size());
}

}  // namespace

MaxPoolCorrection correct_max_pool(const UnitBuilder& unit,
                                   const PoolWindow& window, const Layout& x,
                                   const Layout& y, std::size_t tap_bytes) {
  const Place x_at(x), y_at(y);
  const Geometry g{window,      x.sizes()[0] * x.sizes()[1],
                   x_at.height, x_at.width,
                   y_at.height, y_at.width};
  MaxPoolCorrection correct;
  const DataType type = unit.result_desc().data_type;
  visit_floats<row::max_pool_2d>(unit, type, [&]<class T>(T) {
    correct = [=, n = num_elements(x)](const std::byte* from, std::byte* to,
                                       std::byte* taps) {
      const auto* image = reinterpret_cast<const T*>(from);
      if (is_finite(image, n)) return;
      if (tap_bytes == 1) {
        max_pool(g, x_at, y_at, image, typed<T>(to), typed<std::uint8_t>(taps));
      } else {
        max_pool(g, x_at, y_at, image, typed<T>(to), typed<std::int32_t>(taps));
      }
    };
  });
  return correct;
}

void lower_max_pool_loop(UnitBuilder& unit, const PoolWindow& window) {
  const Geometry g = geometry(window, unit.input_shape(0), unit.result_shape());
  const int in = unit.read(0), out = unit.write(0);
  const int winners = unit.write_opaque(1, state_bytes(g));
  const DataType type = unit.result_desc().data_type;
  visit_floats<row::max_pool_2d>(unit, type, [&]<class T>(T) {
    emit(unit, [=](BindContext& at) -> BoundKernel {
      return [g, x = typed<T>(at[in]), y = typed<T>(at[out]),
              state = typed<std::int32_t>(at[winners])] {
        max_pool(g, x, y, state);
      };
    });
  });
}

void lower_max_pool_gradient_loop(UnitBuilder& unit) {
  const Geometry g = geometry({}, unit.result_shape(), unit.input_shape(0));
  const int in = unit.read(0);
  const int winners = unit.read_opaque(2, OpKind::MaxPool2d, state_bytes(g));
  const int out = unit.write(0);
  const DataType type = unit.result_desc().data_type;
  visit_floats<row::max_pool_2d_gradient>(unit, type, [&]<class T>(T) {
    const int sums = add_sums<T>(unit, out, g.images * g.in_size());
    emit(unit, [=](BindContext& at) -> BoundKernel {
      return
          [g, gradient = typed<T>(at[in]), dx = typed<T>(at[out]),
           sums = floats(at[sums]), state = typed<std::int32_t>(at[winners])] {
            max_pool_gradient(g, gradient, state, sums, dx);
          };
    });
  });
}

void lower_average_pool_loop(UnitBuilder& unit, const PoolWindow& window,
                             bool counts_padding) {
  const Geometry g = geometry(window, unit.input_shape(0), unit.result_shape());
  const int in = unit.read(0), out = unit.write(0);
  const DataType type = unit.result_desc().data_type;
  visit_floats<row::average_pool_2d>(unit, type, [&]<class T>(T) {
    emit(unit, [=](BindContext& at) -> BoundKernel {
      return [g, counts_padding, x = typed<T>(at[in]), y = typed<T>(at[out])] {
        average_pool(g, counts_padding, x, y);
      };
    });
  });
}

void lower_average_pool_gradient_loop(UnitBuilder& unit,
                                      const PoolWindow& window,
                                      bool counts_padding) {
  const Geometry g = geometry(window, unit.result_shape(), unit.input_shape(0));
  const int in = unit.read(0), out = unit.write(0);
  const DataType type = unit.result_desc().data_type;
  visit_floats<row::average_pool_2d_gradient>(unit, type, [&]<class T>(T) {
    const int sums = add_sums<T>(unit, out, g.images * g.in_size());
    emit(unit, [=](BindContext& at) -> BoundKernel {
      return [g, counts_padding, gradient = typed<T>(at[in]),
              dx = typed<T>(at[out]), sums = floats(at[sums])] {
        average_pool_gradient(g, counts_padding, gradient, sums, dx);
      };
    });
  });
}

}  // namespace traingraph::cpu
