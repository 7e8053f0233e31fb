// SPDX-License-Identifier: MIT
// Softmax and its logarithm over the channels of each pixel.
#pragma once

#include "mpsnn/filter_kernel.h"

namespace emulator::mpsnn {

Picture softmax(const Picture& source);
Picture log_softmax(const Picture& source);

/// Gradients of the source, from what the forward filter returned.
Picture softmax_gradient(const Picture& gradient, const Picture& result);
Picture log_softmax_gradient(const Picture& gradient, const Picture& result);

/// ln(sum over channels of e^x) at a pixel.
double log_sum_exp(const Picture& source, std::int64_t y, std::int64_t x);

}  // namespace emulator::mpsnn
