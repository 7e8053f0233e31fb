// SPDX-License-Identifier: MIT
// The CPU device: host memory, kernels bound to addresses, one worker thread
// that drives a team of others.
#pragma once

#include <memory>

#include "runtime/device_context.h"

namespace traingraph::cpu {

/// A device with a queue and threads of its own. Throws DeviceError when they
/// cannot be started.
std::shared_ptr<DeviceContext> make_context(int num_threads);
/// The same for one that ends with its last owner, who may be any thread, the
/// device's own included.
std::shared_ptr<DeviceContext> make_ending_context(int num_threads);

}  // namespace traingraph::cpu
