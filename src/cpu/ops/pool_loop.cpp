// SPDX-License-Identifier: MIT
// Pooling by plain loops. Images are independent, so threads take whole ones
// and gradients need no atomics.
#include "cpu/ops/pool_loop.h"

#include <algorithm>
#include <limits>

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

/// Calls visit(position) for the samples of output (row, column) that lie in
/// the image, in row-major order.
template <class Visit>
void for_window(const Geometry& g, std::int64_t row, std::int64_t column,
                Visit visit) {
  const PoolWindow& w = g.window;
  for (std::int64_t i = 0; i < w.kernel_sizes[0]; ++i) {
    const auto y = row * w.strides[0] + i * w.dilation_rates[0] - w.padding[0];
    if (y < 0 || y >= g.height) continue;
    for (std::int64_t j = 0; j < w.kernel_sizes[1]; ++j) {
      const auto x =
          column * w.strides[1] + j * w.dilation_rates[1] - w.padding[2];
      if (x >= 0 && x < g.width) visit(y * g.width + x);
    }
  }
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

/// What an average divides by; 1 for a window without samples.
float divisor(const Geometry& g, std::int64_t row, std::int64_t column,
              bool counts_padding) {
  if (counts_padding) {
    const Pair& kernel = g.window.kernel_sizes;
    return static_cast<float>(kernel[0] * kernel[1]);
  }
  std::int64_t count = 0;
  for_window(g, row, column, [&](std::int64_t) { ++count; });
  return static_cast<float>(std::max<std::int64_t>(count, 1));
}

void clear(float* values, std::int64_t n) {
  parallel_for(n, kCheapGrain, [&](auto begin, auto end) {
    std::fill(values + begin, values + end, 0.0f);
  });
}

}  // namespace

void lower_max_pool_loop(NodeLowering& lowering, const PoolWindow& window) {
  const Geometry g =
      geometry(window, lowering.input_shape(0), lowering.result_shape());
  const int in = lowering.read(0), out = lowering.write(0);
  const std::size_t state_bytes =
      g.images * g.out_size() * sizeof(std::int32_t);
  const int winners = lowering.write_opaque(1, state_bytes);
  lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
    return [g, x = floats(at[in]), y = floats(at[out]),
            state = typed<std::int32_t>(at[winners])] {
      for_outputs(g, [&](auto image, auto to, auto row, auto column) {
        const float* source = x + image * g.in_size();
        std::int64_t winner = -1;
        for_window(g, row, column, [&](std::int64_t from) {
          if (winner < 0 || source[from] > source[winner]) winner = from;
        });
        const auto index = image * g.out_size() + to;
        y[index] = winner < 0 ? -std::numeric_limits<float>::infinity()
                              : source[winner];
        state[index] = static_cast<std::int32_t>(winner);
      });
    };
  });
}

void lower_max_pool_gradient_loop(NodeLowering& lowering) {
  const Geometry g =
      geometry({}, lowering.result_shape(), lowering.input_shape(0));
  const int in = lowering.read(0), winners = lowering.read_opaque(2);
  const int out = lowering.write(0);
  lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
    return [g, gradient = floats(at[in]), dx = floats(at[out]),
            state = typed<std::int32_t>(at[winners])] {
      clear(dx, g.images * g.in_size());
      for_outputs(g, [&](auto image, auto from, auto, auto) {
        const auto index = image * g.out_size() + from;
        if (state[index] < 0) return;
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
        float sum = 0;
        for_window(g, row, column,
                   [&](std::int64_t from) { sum += source[from]; });
        y[image * g.out_size() + to] =
            sum / divisor(g, row, column, counts_padding);
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
            const float share = gradient[image * g.out_size() + from] /
                                divisor(g, row, column, counts_padding);
            float* target = dx + image * g.in_size();
            for_window(g, row, column,
                       [&](std::int64_t to) { target[to] += share; });
          });
        };
  });
}

}  // namespace traingraph::cpu
