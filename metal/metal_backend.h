// SPDX-License-Identifier: MIT
// The Metal device as the rest of the library sees it: plain C++.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "metal/gpu_limits.h"
#include "runtime/device/device_context.h"

namespace traingraph::metal {

/// The context is null when there is no Metal device. Called once per process.
std::shared_ptr<DeviceContext> make_context();
/// For tests: one more device over the same GPU, with a queue of its own, that
/// believes in other limits than the machine's. Null when there is no GPU.
std::shared_ptr<DeviceContext> make_context(
    const std::function<void(GpuLimits&)>& change);
/// Why make_context returns null; empty when it does not.
std::string unavailable_reason();

}  // namespace traingraph::metal
