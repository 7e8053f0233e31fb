// SPDX-License-Identifier: MIT
// Devices as arguments: a Device, a DeviceType, or its name.
#pragma once

#include "bindings.h"
#include "casters.h"
#include "signature.h"

namespace traingraph::python {

using DeviceLike =
    Named<"traingraph._core.Device | traingraph._core.DeviceType | str">;

Device to_device(const DeviceLike& source);

}  // namespace traingraph::python
