// SPDX-License-Identifier: MIT
// Filters of one channel: for each tap the rows of an image are multiplied by a
// weight and added up, in vectors.
#include <algorithm>

#include "cpu/cblas/bias_gradient.h"
#include "cpu/cblas/convolution.h"
#include "cpu/cblas/epilogue.h"
#include "cpu/cblas/taps.h"
#include "cpu/parallel.h"
#include "cpu/typed_address.h"

namespace traingraph::cpu {
namespace {

/// Calls use(tap, place in x, place in y, count, step in x) for each row of
/// outputs of each tap that has samples.
template <class Use>
void for_each_tap_row(const ConvolutionSizes& s, const Use& use) {
  for (std::int64_t i = 0; i < s.kernel[0]; ++i) {
    const Tap rows = row_tap(s, i);
    for (std::int64_t j = 0; j < s.kernel[1]; ++j) {
      const Tap columns = column_tap(s, j);
      if (columns.begin == columns.end) continue;
      for (std::int64_t row = rows.begin; row < rows.end; ++row) {
        const std::int64_t from = (row * rows.stride + rows.offset) * s.width +
                                  columns.begin * columns.stride +
                                  columns.offset;
        use(i * s.kernel[1] + j, from, row * s.out_width + columns.begin,
            columns.end - columns.begin, columns.stride);
      }
    }
  }
}

/// Images of a channel that are worth a thread.
std::int64_t grain_of(const ConvolutionSizes& s) {
  return std::max<std::int64_t>(1, kCheapGrain / (s.out_size() * s.taps() + 1));
}

void run_forward(const ConvolutionSizes& s, const Epilogue& epilogue,
                 const float* x, const float* weights, const float* bias,
                 float* y) {
  const std::int64_t channels = s.groups * s.out;
  const auto run = [&](std::int64_t plane) {
    const std::int64_t channel = plane % channels;
    const std::int64_t source = plane / channels * s.groups + channel / s.out;
    const float* const image = x + source * s.in_size();
    const float* const filter = weights + channel * s.taps();
    float* const to = y + plane * s.out_size();
    std::fill_n(to, s.out_size(), 0.0f);
    for_each_tap_row(s, [=](auto tap, auto from, auto at, auto n, auto step) {
      const float weight = filter[tap];
#pragma omp simd
      for (std::int64_t k = 0; k < n; ++k) {
        to[at + k] += weight * image[from + k * step];
      }
    });
    if (epilogue.is_empty()) return;
    const float add = bias ? bias[channel] : 0;
    finish(epilogue, 1, s.out_size(), to, 0, to, 0,
           [add](auto, auto) { return add; });
  };
  parallel_for(
      s.images * channels, grain_of(s),
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) run(i);
      },
      /*multiple=*/1);
}

void run_input_gradient(const ConvolutionSizes& s, const float* gradient,
                        const float* weights, float* dx) {
  parallel_for(
      s.images * s.groups, grain_of(s),
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t plane = begin; plane < end; ++plane) {
          float* const to = dx + plane * s.in_size();
          std::fill_n(to, s.in_size(), 0.0f);
          for (std::int64_t o = 0; o < s.out; ++o) {
            const float* const from =
                gradient + (plane * s.out + o) * s.out_size();
            const float* const filter =
                weights + (plane % s.groups * s.out + o) * s.taps();
            for_each_tap_row(
                s, [=](auto tap, auto at, auto source, auto n, auto step) {
                  const float weight = filter[tap];
#pragma omp simd
                  for (std::int64_t k = 0; k < n; ++k) {
                    to[at + k * step] += weight * from[source + k];
                  }
                });
          }
        }
      },
      /*multiple=*/1);
}

void run_weights_gradient(const ConvolutionSizes& s, const float* gradient,
                          const float* x, double* sums, float* dw) {
  const std::int64_t channels = s.groups * s.out;
  parallel_for(
      channels, 1,
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t channel = begin; channel < end; ++channel) {
          double* const sum = sums + channel * s.taps();
          std::fill_n(sum, s.taps(), 0.0);
          for (std::int64_t n = 0; n < s.images; ++n) {
            const float* const image =
                x + (n * s.groups + channel / s.out) * s.in_size();
            const float* const from =
                gradient + (n * channels + channel) * s.out_size();
            for_each_tap_row(
                s, [=](auto tap, auto at, auto source, auto count, auto step) {
                  float row = 0;
#pragma omp simd reduction(+ : row)
                  for (std::int64_t k = 0; k < count; ++k) {
                    row += from[source + k] * image[at + k * step];
                  }
                  sum[tap] += row;
                });
          }
          for (std::int64_t tap = 0; tap < s.taps(); ++tap) {
            dw[channel * s.taps() + tap] = static_cast<float>(sum[tap]);
          }
        }
      },
      /*multiple=*/1);
}

}  // namespace

void lower_depthwise(UnitBuilder& unit, const ConvolutionSizes& sizes) {
  const Epilogue epilogue = fuse_epilogue(unit, unit.has(2));
  const int x = unit.read(0), weights = unit.read(1),
            bias = unit.has(2) ? unit.read(2) : -1, y = unit.write(0);
  emit(unit, [=](BindContext& at) -> BoundKernel {
    return [sizes, epilogue, x = floats(at[x]), weights = floats(at[weights]),
            bias = bias < 0 ? nullptr : floats(at[bias]), y = floats(at[y])] {
      run_forward(sizes, epilogue, x, weights, bias, y);
    };
  });
}

void lower_depthwise_input_gradient(UnitBuilder& unit,
                                    const ConvolutionSizes& sizes) {
  const int gradient = unit.read(0), weights = unit.read(1), dx = unit.write(0);
  emit(unit, [=](BindContext& at) -> BoundKernel {
    return [sizes, gradient = floats(at[gradient]),
            weights = floats(at[weights]), dx = floats(at[dx])] {
      run_input_gradient(sizes, gradient, weights, dx);
    };
  });
}

void lower_depthwise_weights_gradient(UnitBuilder& unit,
                                      const ConvolutionSizes& sizes) {
  const int bias = fuse_bias_gradient(unit);
  const int gradient = unit.read(0), x = unit.read(1), dw = unit.write(0),
            sums = unit.scratch(sizes.groups * sizes.out * sizes.taps() *
                                sizeof(double));
  emit(unit, [=](BindContext& at) -> BoundKernel {
    return [sizes, gradient = floats(at[gradient]), x = floats(at[x]),
            sums = typed<double>(at[sums]), dw = floats(at[dw]),
            db = bias < 0 ? nullptr : floats(at[bias])] {
      run_weights_gradient(sizes, gradient, x, sums, dw);
      add_up_channels(sizes, gradient, db);
    };
  });
}

}  // namespace traingraph::cpu
