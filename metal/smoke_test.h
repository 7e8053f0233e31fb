// SPDX-License-Identifier: MIT
// Does a GPU that says it is there do what all else relies on? The ones of
// virtual machines often have no heaps, or run nothing.
#pragma once

#include <chrono>
#include <string>

#import "metal/gpu_device.h"

namespace traingraph::metal {

/// The first executable of a process compiles kernels of Apple's, which takes
/// a second or two.
inline constexpr std::chrono::seconds kSmokePatience{30};

/// Runs one tiny executable on memory of a heap and compares its result. Empty
/// when the GPU is usable, else the reason why it is not. Waits no longer than
/// `patience`.
std::string smoke_test(const GpuDevice& device,
                       std::chrono::milliseconds patience = kSmokePatience);

}  // namespace traingraph::metal
