// SPDX-License-Identifier: MIT
// A device that is watched by another one: every execution runs on both, and
// fails when a tensor of the watched one leaves tolerance. Neither the session
// nor the backends know: this is a DeviceContext around two others.
// Sessions get theirs from find_verifying_context() (backend.h).
#pragma once

#include <memory>

#include "runtime/device/device_context.h"

namespace traingraph {

/// The result computes on `device`. Then `reference` runs the same nodes unit
/// by unit, each with the values that the device has for it (verified_units.h);
/// all floats that both hold are compared, in program order. |got - expected|
/// may be at most `tolerance`, of 16 bits at least 8 units of rounding, times
/// the largest magnitude of the expected tensor, or 3% (beside tensors of 16
/// bits 25%) of the largest before it of its type and phase where that is more.
std::shared_ptr<DeviceContext> make_verifying_context(
    std::shared_ptr<DeviceContext> device,
    std::shared_ptr<DeviceContext> reference, double tolerance);

}  // namespace traingraph
