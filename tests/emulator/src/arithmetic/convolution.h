// SPDX-License-Identifier: MIT
// Convolutions of any layout: sizes, and where in each array an element is.
// Grouped, depthwise, transposed, 2-D and 3-D ones differ in these numbers
// only.
#pragma once

#include <array>

#include "../array.h"

namespace emulator {

using Space = std::array<std::int64_t, 3>;  // depth, height, width

/// Steps between elements of the source or the result.
struct DataSteps {
  std::int64_t batch = 0, channel = 0;
  Space space = {0, 0, 0};
};
/// Steps between weights: to the next group, the next output channel of a
/// group, the next input channel of a group.
struct WeightSteps {
  std::int64_t group = 0, output = 0, input = 0;
  Space space = {0, 0, 0};
};

struct Convolution {
  std::int64_t batch = 1, groups = 1;
  std::int64_t inputs = 1, outputs = 1;  // channels of one group
  Space source = {1, 1, 1}, kernel = {1, 1, 1}, result = {1, 1, 1};
  Space stride = {1, 1, 1}, dilation = {1, 1, 1}, before = {0, 0, 0};
  DataSteps source_steps, result_steps;
  WeightSteps weight_steps;
};

/// Inputs: source, weights.
Kernel convolve(const Convolution& convolution);
/// Inputs: incoming gradient, weights.
Kernel convolve_data_gradient(const Convolution& convolution);
/// Inputs: incoming gradient, source.
Kernel convolve_weights_gradient(const Convolution& convolution);

}  // namespace emulator
