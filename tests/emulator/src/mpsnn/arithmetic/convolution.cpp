// SPDX-License-Identifier: MIT
#include "mpsnn/arithmetic/convolution.h"

#include <algorithm>

#include "mpsnn/padding.h"

namespace emulator::mpsnn {
namespace {

constexpr std::int64_t kOutside = -1;

/// Where a tap of one axis reads the source.
std::int64_t tap_place(const Window& window, std::int64_t position,
                       std::int64_t tap, std::int64_t stride,
                       std::int64_t dilation, std::int64_t extent,
                       std::int64_t offset, std::int64_t length,
                       EdgeMode mode) {
  if (window.is_reverse) {
    // The source has stride - 1 zeros between its pixels.
    const std::int64_t spread =
        window_begin(position, 1, offset, extent) + tap * dilation;
    if (spread < 0 || spread % stride != 0) return kOutside;
    return spread / stride < length ? spread / stride : kOutside;
  }
  const std::int64_t place =
      window_begin(position, stride, offset, extent) + tap * dilation;
  if (place >= 0 && place < length) return place;
  return mode == EdgeMode::Clamp
             ? std::clamp<std::int64_t>(place, 0, length - 1)
             : kOutside;
}

/// visit(result y, result x, tap y, tap x, source y, source x)
template <class Visit>
void for_each_tap(const ConvolutionShape& shape, const Placement& placement,
                  const Extent& source, Visit visit) {
  const Window& w = shape.window;
  const Extent& result = placement.result;
  for (std::int64_t oy = 0; oy < result.height; ++oy) {
    for (std::int64_t v = 0; v < w.kernel_height; ++v) {
      const std::int64_t iy =
          tap_place(w, oy, v, w.stride_y, w.dilation_y, w.extent_y(),
                    placement.offset_y, source.height, placement.edge_mode);
      if (iy == kOutside) continue;
      for (std::int64_t ox = 0; ox < result.width; ++ox) {
        for (std::int64_t u = 0; u < w.kernel_width; ++u) {
          const std::int64_t ix =
              tap_place(w, ox, u, w.stride_x, w.dilation_x, w.extent_x(),
                        placement.offset_x, source.width, placement.edge_mode);
          if (ix != kOutside) visit(oy, ox, v, u, iy, ix);
        }
      }
    }
  }
}

/// visit(weight index, output channel, input channel) of one tap.
template <class Visit>
void for_each_weight(const ConvolutionShape& shape, std::int64_t v,
                     std::int64_t u, Visit visit) {
  const std::int64_t inputs = shape.inputs_per_group();
  for (std::int64_t o = 0; o < shape.outputs; ++o) {
    const std::int64_t first = o / shape.outputs_per_group() * inputs;
    const std::int64_t row =
        ((o * shape.window.kernel_height + v) * shape.window.kernel_width + u) *
        inputs;
    for (std::int64_t i = 0; i < inputs; ++i) visit(row + i, o, first + i);
  }
}

void copy_rounded(const std::vector<double>& sums, Picture& picture) {
  std::copy(sums.begin(), sums.end(), picture.data.begin());
}

}  // namespace

void convolve(const ConvolutionShape& shape, const Placement& placement,
              const std::vector<float>& weights,
              const std::vector<float>& biases, const Picture& source,
              Picture& result) {
  std::vector<double> sums(result.data.size());
  for_each_tap(shape, placement, source.extent,
               [&](auto oy, auto ox, auto v, auto u, auto iy, auto ix) {
                 for_each_weight(shape, v, u, [&](auto w, auto o, auto i) {
                   sums[result.index(o, oy, ox)] +=
                       double(weights[w]) * source.at(i, iy, ix);
                 });
               });
  const std::int64_t plane = result.extent.height * result.extent.width;
  for (std::size_t i = 0; i < sums.size() && !biases.empty(); ++i) {
    sums[i] += biases[i / plane];
  }
  copy_rounded(sums, result);
}

void convolution_data_gradient(const ConvolutionShape& shape,
                               const Placement& placement,
                               const std::vector<float>& weights,
                               const Picture& gradient, Picture& result) {
  std::vector<double> sums(result.data.size());
  for_each_tap(shape, placement, result.extent,
               [&](auto oy, auto ox, auto v, auto u, auto iy, auto ix) {
                 for_each_weight(shape, v, u, [&](auto w, auto o, auto i) {
                   sums[result.index(i, iy, ix)] +=
                       double(weights[w]) * gradient.at(o, oy, ox);
                 });
               });
  copy_rounded(sums, result);
}

void add_convolution_weight_gradient(const ConvolutionShape& shape,
                                     const Placement& placement,
                                     const Picture& source,
                                     const Picture& gradient,
                                     std::vector<double>& weights,
                                     std::vector<double>& biases) {
  for_each_tap(shape, placement, source.extent,
               [&](auto oy, auto ox, auto v, auto u, auto iy, auto ix) {
                 for_each_weight(shape, v, u, [&](auto w, auto o, auto i) {
                   weights[w] +=
                       double(gradient.at(o, oy, ox)) * source.at(i, iy, ix);
                 });
               });
  const std::int64_t plane = gradient.extent.height * gradient.extent.width;
  for (std::size_t i = 0; i < gradient.data.size(); ++i) {
    biases[i / plane] += gradient.data[i];
  }
}

}  // namespace emulator::mpsnn
