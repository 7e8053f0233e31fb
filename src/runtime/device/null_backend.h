// SPDX-License-Identifier: MIT
// The null device: the whole pipeline without kernels. Results are zeros.
// Tests inject failures and delays into it by node name.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/device/device_context.h"

namespace traingraph {

std::shared_ptr<DeviceContext> make_null_context();

/// The queue's thread calls it for every node that the null device runs; it may
/// throw or block. Null: nothing happens.
using NullHook =
    std::function<void(const std::string& op, const std::string& node)>;
void set_null_hook(NullHook hook);

}  // namespace traingraph
