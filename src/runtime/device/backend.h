// SPDX-License-Identifier: MIT
// The seam between the runtime and the concrete backends. Declared here,
// defined in src/backends.cpp, the only file that names them.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "runtime/device/device_context.h"

namespace traingraph {

/// The process-wide context of a device (CPU, GPU or Null), created on first
/// use. Null when the device is not available.
std::shared_ptr<DeviceContext> find_device_context(DeviceType type);

/// The process-wide context of a GPU by its number, 0 for the one that
/// find_device_context() returns. Null when there are not as many.
std::shared_ptr<DeviceContext> find_gpu_context(std::size_t index);

/// Makes a CPU device with threads and a queue of its own. Any thread may
/// release the last reference, also one of the device's own.
std::shared_ptr<DeviceContext> make_cpu_context(int num_threads);
/// Counts the threads of the process-wide CPU device. Setting another number
/// replaces the device.
int num_cpu_threads();
void set_num_cpu_threads(int count);

/// The process-wide context that runs on `device` and checks each execution on
/// `reference`; see verifying_context.h.
std::shared_ptr<DeviceContext> find_verifying_context(
    const std::shared_ptr<DeviceContext>& device,
    const std::shared_ptr<DeviceContext>& reference, double tolerance);

/// Drains a context and the verifying contexts around it.
void drain_with_watchers(DeviceContext& context);
/// Drains all contexts there are.
void drain_all();

/// Returns why find_device_context returns null; empty when it does not.
std::string unavailable_reason(DeviceType type);

}  // namespace traingraph
