// SPDX-License-Identifier: MIT
// The CPU device: host memory, kernels bound to addresses, one worker thread
// that drives a thread pool.
#pragma once

#include <memory>

#include "runtime/device/device_context.h"

namespace traingraph::cpu {

/// A device with a queue and threads of its own. Throws DeviceError when they
/// cannot be started.
std::shared_ptr<DeviceContext> make_context(int num_threads);
/// Makes a context that ends when the last reference to it goes, which may
/// happen on any thread, the device's own included.
std::shared_ptr<DeviceContext> make_ending_context(int num_threads);

}  // namespace traingraph::cpu
