// SPDX-License-Identifier: MIT
// Kernels of filters that treat every image by itself and keep nothing:
// one function from pictures to a picture.
#pragma once

#include <functional>

#include "mpsnn/filter_kernel.h"

namespace emulator::mpsnn {

/// The rule of a forward filter may refuse sources.
using ExtentRule = std::function<Extent(const Extent& source)>;
using ForwardRule = std::function<Picture(const Picture& source)>;
using GradientRule =
    std::function<Picture(const Picture& gradient, const Picture& source)>;

/// The extent is that of the source unless there is a rule.
std::shared_ptr<FilterKernel> filter_of(ForwardRule forward,
                                        ExtentRule extent = nullptr);

/// `extent` is that of the forward result: gradients must have it. `name` is
/// the node's class, for messages.
std::shared_ptr<FilterKernel> gradient_of(const char* name,
                                          GradientRule gradient,
                                          ExtentRule extent = nullptr);

/// Refuses a gradient that is not as large as the forward result.
void require_gradient(const char* name, const Extent& gradient,
                      const Extent& result);

/// Refuses what is not positive.
void require_positive(const char* name, const char* what, std::int64_t value);

}  // namespace emulator::mpsnn
