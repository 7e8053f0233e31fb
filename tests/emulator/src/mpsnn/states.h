// SPDX-License-Identifier: MIT
// What files that make and read MPSState share.
#pragma once

#include <memory>

#include "filter_kernel.h"
#import "objects.h"

@interface MPSState (Emulator)
/// `buffer` makes it temporary: with a read count of 1.
- (instancetype)initWithFilterState:
                    (std::shared_ptr<emulator::mpsnn::FilterState>)state
                      commandBuffer:(id<MTLCommandBuffer>)buffer;
- (instancetype)initWithResources:(NSArray<id<MTLResource>>*)resources
                    commandBuffer:(id<MTLCommandBuffer>)buffer;
/// The state is null where the caller made it.
- (std::shared_ptr<emulator::mpsnn::FilterState>)filterState;
/// Refuses a temporary state that is used up, or of another command buffer.
- (void)require:(const char*)what usableOn:(id<MTLCommandBuffer>)buffer;
@end

namespace emulator::mpsnn {

/// Every byte 0xff: a NaN.
void poison_buffer(id<MTLBuffer> buffer);

}  // namespace emulator::mpsnn
