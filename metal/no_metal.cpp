// SPDX-License-Identifier: MIT
// The entry points of metal_backend.h where there is no Metal.
#include "metal/metal_backend.h"

namespace traingraph::metal {

std::shared_ptr<DeviceContext> make_context() { return nullptr; }

std::shared_ptr<DeviceContext> make_context(
    const std::function<void(GpuLimits&)>&) {
  return nullptr;
}

std::string unavailable_reason() {
  return "this build has no Metal device: it needs macOS and Apple's GPU";
}

}  // namespace traingraph::metal
