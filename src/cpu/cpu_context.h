// SPDX-License-Identifier: MIT
// The CPU device: host memory, kernels bound to addresses, one worker thread
// that drives the OpenMP team.
#pragma once

#include <memory>

#include "runtime/device_context.h"

namespace traingraph::cpu {

std::shared_ptr<DeviceContext> make_context();

}  // namespace traingraph::cpu
