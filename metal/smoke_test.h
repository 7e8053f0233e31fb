// SPDX-License-Identifier: MIT
// Does a GPU that says it is there do what all else relies on? The ones of
// virtual machines often have no heaps, or run nothing.
#pragma once

#include <string>

#import "metal/gpu_device.h"

namespace traingraph::metal {

/// Runs one tiny executable on memory of a heap and compares its result. Empty
/// when the GPU is usable, else the reason why it is not. Never waits for ever.
std::string smoke_test(const GpuDevice& device);

}  // namespace traingraph::metal
