// SPDX-License-Identifier: MIT
// The Metal device as the rest of the library sees it: plain C++.
#pragma once

#include <memory>
#include <string>

#include "runtime/device_context.h"

namespace traingraph::metal {

/// Null when there is no Metal device. Called once per process.
std::shared_ptr<DeviceContext> make_context();
/// Why make_context returns null; empty when it does not.
std::string unavailable_reason();

}  // namespace traingraph::metal
