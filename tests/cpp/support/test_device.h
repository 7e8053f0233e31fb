// SPDX-License-Identifier: MIT
// The device that suites run on which hold for every device: CTest runs each
// of them once per device (TRAINGRAPH_TEST_DEVICE=cpu, the default, or gpu).
#pragma once

#include <cstdlib>
#include <string_view>

#include "runtime/device_context.h"
#include "traingraph/device.h"

namespace traingraph::testing {

inline Device test_device() {
  const char* name = std::getenv("TRAINGRAPH_TEST_DEVICE");
  const bool is_gpu = name && std::string_view(name) == "gpu";
  return is_gpu ? Device::gpu() : Device::cpu();
}

/// Storage takes a multiple of so many bytes on the test device.
inline std::size_t device_alignment() {
  return test_device().context()->target().alignment();
}

}  // namespace traingraph::testing
