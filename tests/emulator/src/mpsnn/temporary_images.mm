// SPDX-License-Identifier: MIT
// MPSTemporaryImage, and functions on batches of images.
#import "buffer_ref.h"
#include "faults.h"
#import "images.h"

using emulator::refuse;
using emulator::mpsnn::BufferRef;
using emulator::mpsnn::ImageMemory;

@implementation MPSTemporaryImage
+ (id<MPSImageAllocator>)defaultAllocator {
  return [EmulatedImageAllocator allocatorOfTemporary:YES];
}

+ (instancetype)temporaryImageWithCommandBuffer:(id<MTLCommandBuffer>)buffer
                                imageDescriptor:
                                    (const MPSImageDescriptor*)descriptor {
  const char* what = "temporaryImageWithCommandBuffer";
  if (!buffer || !descriptor) refuse(what, @"buffer or descriptor is nil");
  MPSImageDescriptor* own =
      [[(MPSImageDescriptor*)descriptor copy] autorelease];
  [own setStorageMode:MTLStorageModePrivate];
  MPSTemporaryImage* image = [[[self alloc] initWithDevice:[buffer device]
                                           imageDescriptor:own] autorelease];
  image->_commandBuffer = new BufferRef(buffer);
  image->_readCount = 1;
  return image;
}

+ (void)prefetchStorageWithCommandBuffer:(id<MTLCommandBuffer>)buffer
                     imageDescriptorList:
                         (NSArray<MPSImageDescriptor*>*)descriptors {
  (void)buffer, (void)descriptors;
}

- (void)dealloc {
  if (_readCount > 0) emulator::count_unread_temporary();
  delete static_cast<BufferRef*>(_commandBuffer);
  [super dealloc];
}

- (NSUInteger)readCount {
  return _readCount;
}

/// At zero the memory serves something else.
- (void)setReadCount:(NSUInteger)count {
  if (_readCount == 0) {
    refuse("MPSTemporaryImage", @"the read count was zero already");
  }
  _readCount = count;
  if (count > 0) return;
  ImageMemory* memory = &[self memory];
  static_cast<BufferRef*>(_commandBuffer)
      ->record_quietly([kept = memory->share()] {
        kept->poison();
        return 0;
      });
}

- (void)require:(const char*)what usableOn:(id<MTLCommandBuffer>)buffer {
  if (_readCount == 0) refuse(what, @"%@ is used up: read count 0", self);
  if (!static_cast<BufferRef*>(_commandBuffer)->is_same(buffer)) {
    refuse(what, @"%@ is of another command buffer", self);
  }
}

- (void)countRead {
  [self setReadCount:_readCount - 1];
}

- (void)requireHostAccess:(const char*)what index:(NSUInteger)index {
  (void)index;
  refuse(what, @"the host cannot see a temporary image");
}

- (void)synchronizeOnCommandBuffer:(id<MTLCommandBuffer>)buffer {
  (void)buffer;
  refuse("synchronizeOnCommandBuffer", @"the image is temporary");
}
@end

NSUInteger MPSImageBatchIncrementReadCount(MPSImageBatch* batch,
                                           NSInteger amount) {
  NSSet* different = [NSSet setWithArray:batch];
  for (MPSImage* image in different) {
    if (![image isKindOfClass:[MPSTemporaryImage class]]) continue;
    MPSTemporaryImage* temporary = (MPSTemporaryImage*)image;
    if (amount < 0 && NSUInteger(-amount) > [temporary readCount]) {
      refuse("MPSImageBatchIncrementReadCount", @"%@ has read count %lu", image,
             (unsigned long)[temporary readCount]);
    }
    [temporary setReadCount:[temporary readCount] + amount];
  }
  return [different count];
}

void MPSImageBatchSynchronize(MPSImageBatch* batch,
                              id<MTLCommandBuffer> buffer) {
  for (MPSImage* image in [NSSet setWithArray:batch]) {
    [image synchronizeOnCommandBuffer:buffer];
  }
}

NSUInteger MPSImageBatchResourceSize(MPSImageBatch* batch) {
  NSUInteger size = 0;
  for (MPSImage* image in [NSSet setWithArray:batch]) {
    size += [image resourceSize];
  }
  return size;
}
