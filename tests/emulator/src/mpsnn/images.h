// SPDX-License-Identifier: MIT
// What files that read and write MPSImage share.
#pragma once

#include "filter_kernel.h"
#import "image_format.h"
#import "objects.h"

@interface MPSImage (Emulator)
- (MPSImageDescriptor*)descriptor;
- (emulator::mpsnn::ImageMemory&)memory;
/// Refuses a temporary image that is used up, or of another command buffer.
- (void)require:(const char*)what usableOn:(id<MTLCommandBuffer>)buffer;
/// A temporary image's read count goes down by one.
- (void)countRead;

// Only the device's thread may call this.
- (emulator::mpsnn::Picture)picture;
- (void)setPicture:(const emulator::mpsnn::Picture&)picture;
/// All elements, image by image, channels innermost, in the image's format.
- (std::vector<double>)elements;
@end

/// [MPSImage defaultAllocator] and [MPSTemporaryImage defaultAllocator].
@interface EmulatedImageAllocator : NSObject <MPSImageAllocator> {
  BOOL _isTemporary;
}
+ (instancetype)allocatorOfTemporary:(BOOL)is_temporary;
@end

namespace emulator::mpsnn {

Extent extent_of(MPSImage* image);
Extent extent_of(MPSImageDescriptor* descriptor);
void set_extent(MPSImageDescriptor* descriptor, const Extent& extent);

/// Refuses what is no batch of single images of one size and format.
void require_batch(const char* what, MPSImageBatch* batch);

}  // namespace emulator::mpsnn
