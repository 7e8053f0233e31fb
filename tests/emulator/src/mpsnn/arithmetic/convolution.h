// SPDX-License-Identifier: MIT
// Convolution of pictures, its gradients, and the same transposed.
#pragma once

#include <vector>

#include "mpsnn/filter_kernel.h"

namespace emulator::mpsnn {

struct ConvolutionShape {
  Window window;
  std::int64_t inputs = 0, outputs = 0, groups = 1;
  /// One kernel per channel; outputs == inputs.
  bool is_depthwise = false;

  std::int64_t inputs_per_group() const {
    return is_depthwise ? 1 : inputs / groups;
  }
  std::int64_t outputs_per_group() const {
    return is_depthwise ? 1 : outputs / groups;
  }
  /// Output channel, row, column, input channel of the group.
  std::int64_t num_weights() const {
    return outputs * window.kernel_height * window.kernel_width *
           inputs_per_group();
  }
};

/// `biases` may be empty.
void convolve(const ConvolutionShape& shape, const Placement& placement,
              const std::vector<float>& weights,
              const std::vector<float>& biases, const Picture& source,
              Picture& result);

void convolution_data_gradient(const ConvolutionShape& shape,
                               const Placement& placement,
                               const std::vector<float>& weights,
                               const Picture& gradient, Picture& result);

/// Added to both.
void add_convolution_weight_gradient(const ConvolutionShape& shape,
                                     const Placement& placement,
                                     const Picture& source,
                                     const Picture& gradient,
                                     std::vector<double>& weights,
                                     std::vector<double>& biases);

}  // namespace emulator::mpsnn
