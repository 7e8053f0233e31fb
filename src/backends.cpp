// SPDX-License-Identifier: MIT
// Composition root: the only file that names concrete backends.
#include <cstdlib>

#include "cpu/cpu_context.h"
#include "metal/metal_backend.h"
#include "runtime/backend.h"
#include "runtime/null_backend.h"

namespace traingraph {
namespace {

/// Contexts are never destroyed. Work that is in flight when the process exits
/// is finished first: static objects that it may use are still alive then.
template <std::shared_ptr<DeviceContext> (*make)()>
const std::shared_ptr<DeviceContext>& process_wide() {
  static const auto* context = [] {
    auto* made = new std::shared_ptr<DeviceContext>(make());
    if (*made) std::atexit([] { process_wide<make>()->drain(); });
    return made;
  }();
  return *context;
}

}  // namespace

std::shared_ptr<DeviceContext> find_device_context(DeviceType type) {
  switch (type) {
    case DeviceType::CPU:
      return process_wide<cpu::make_context>();
    case DeviceType::GPU:
      return process_wide<metal::make_context>();
    case DeviceType::Null:
      return process_wide<make_null_context>();
    default:
      return nullptr;
  }
}

std::string unavailable_reason(DeviceType type) {
  switch (type) {
    case DeviceType::CPU:
    case DeviceType::Null:
      return {};
    case DeviceType::GPU:
      return metal::unavailable_reason();
    case DeviceType::ANE:
      return "the Neural Engine cannot train, and this library does not use it";
    default:
      return "no such device";
  }
}

}  // namespace traingraph
