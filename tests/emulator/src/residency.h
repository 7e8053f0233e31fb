// SPDX-License-Identifier: MIT
// What residency sets are there, for the device's queues and for control.h.
#pragma once

#import "objects.h"

namespace emulator {

id make_residency_set(id<MTLDevice> device, NSString* label);
/// A queue's command buffers need all of a set.
void attach_residency_set(id set);
/// Is a heap in a set that was committed, requested and attached?
bool is_resident(id<MTLHeap> heap);

}  // namespace emulator
