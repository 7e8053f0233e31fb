// SPDX-License-Identifier: MIT
// What a device says about itself and its system: limits_of() makes limits of
// it.
#pragma once

#import <Metal/Metal.h>

#include "metal/gpu_limits.h"

namespace traingraph::metal {

GpuSystem system_of(id<MTLDevice> device);

}  // namespace traingraph::metal
