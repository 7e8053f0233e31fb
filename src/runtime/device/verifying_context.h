// SPDX-License-Identifier: MIT
// A device that is watched by another one: every execution runs on both, and
// fails when a tensor of the watched one leaves tolerance. Neither the session
// nor the backends know: this is a DeviceContext around two others.
// Sessions get theirs from find_verifying_context() (backend.h).
#pragma once

#include <memory>

#include "runtime/device/device_context.h"

namespace traingraph {

/// The result computes on `device`. Before each execution `reference` gets the
/// values that it reads, then runs the same nodes; all float32 values that
/// both hold are compared, in program order. |got - expected| may be at most
/// `tolerance` times the largest magnitude of the expected tensor, or 3%
/// of the largest of its phase where that is more.
std::shared_ptr<DeviceContext> make_verifying_context(
    std::shared_ptr<DeviceContext> device,
    std::shared_ptr<DeviceContext> reference, double tolerance);

}  // namespace traingraph
