// SPDX-License-Identifier: MIT
// A device whose memory the host cannot address: buffers are tokens without
// anything behind them. It is the CPU, which it hands what the tokens stand
// for. Whoever outside a backend takes a buffer for more than a name fails
// here.
#pragma once

#include <memory>

#include "runtime/device/device_context.h"

namespace traingraph::testing {

/// The process-wide one.
const std::shared_ptr<DeviceContext>& token_context();

}  // namespace traingraph::testing
