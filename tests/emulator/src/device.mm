// SPDX-License-Identifier: MIT
// MTLDevice: the only GPU of the emulated machine. It lives for ever.
#import <Metal/MTLResidencySet.h>

#include "device_memory.h"
#include "faults.h"
#import "objects.h"
#import "residency.h"

using emulator::make_buffer;

@interface EmulatedDevice : NSObject <MTLDevice>
@end

@implementation EmulatedDevice
- (NSString*)name {
  return emulator::to_ns(emulator::device_name());
}
- (uint64_t)registryID {
  return 0x7261696e;
}
- (MTLSize)maxThreadsPerThreadgroup {
  return MTLSizeMake(1024, 1024, 1024);
}
- (BOOL)isLowPower {
  return NO;
}
- (BOOL)isHeadless {
  return NO;
}
- (BOOL)isRemovable {
  return NO;
}
- (BOOL)hasUnifiedMemory {
  return emulator::has_unified_memory();
}
- (uint64_t)recommendedMaxWorkingSetSize {
  return emulator::memory_limit() / 4 * 3;
}
- (NSUInteger)currentAllocatedSize {
  return emulator::Memory::total_bytes();
}
- (NSUInteger)maxBufferLength {
  return emulator::max_buffer_length();
}
- (NSUInteger)maxThreadgroupMemoryLength {
  return 32768;
}

- (BOOL)supportsFamily:(MTLGPUFamily)family {
  if (!emulator::is_apple_silicon()) return family <= MTLGPUFamilyApple5;
  switch (family) {
    case MTLGPUFamilyMac1:
    case MTLGPUFamilyMac2:
    case MTLGPUFamilyCommon1:
    case MTLGPUFamilyCommon2:
    case MTLGPUFamilyCommon3:
    case MTLGPUFamilyMetal3:
      return YES;
    default:
      return emulator::has_unified_memory() && family <= MTLGPUFamilyApple7;
  }
}

- (id<MTLCommandQueue>)newCommandQueue {
  return emulator::make_queue(self, 64);
}
- (id<MTLCommandQueue>)newCommandQueueWithMaxCommandBufferCount:
    (NSUInteger)count {
  if (count == 0) {
    emulator::refuse("newCommandQueueWithMaxCommandBufferCount",
                     @"the count is zero");
  }
  return emulator::make_queue(self, count);
}

- (MTLSizeAndAlign)heapBufferSizeAndAlignWithLength:(NSUInteger)length
                                            options:
                                                (MTLResourceOptions)options {
  (void)options;
  return {emulator::heap_size_of(length), emulator::heap_alignment_of(length)};
}
- (id<MTLHeap>)newHeapWithDescriptor:(MTLHeapDescriptor*)descriptor {
  return emulator::make_heap(self, descriptor);
}

- (id<MTLResidencySet>)newResidencySetWithDescriptor:
                           (MTLResidencySetDescriptor*)descriptor
                                               error:(NSError**)error {
  (void)error;
  return emulator::make_residency_set(self, [descriptor label]);
}

- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length
                             options:(MTLResourceOptions)options {
  return make_buffer(self, length, options, nullptr);
}
- (id<MTLBuffer>)newBufferWithBytes:(const void*)pointer
                             length:(NSUInteger)length
                            options:(MTLResourceOptions)options {
  const char* what = "newBufferWithBytes";
  if (!pointer) emulator::refuse(what, @"the pointer is null");
  if ((options & MTLResourceStorageModeMask) == MTLResourceStorageModePrivate) {
    emulator::refuse(what, @"the storage cannot be private");
  }
  return make_buffer(self, length, options, pointer);
}
- (id<MTLBuffer>)newBufferWithBytesNoCopy:(void*)pointer
                                   length:(NSUInteger)length
                                  options:(MTLResourceOptions)options
                              deallocator:
                                  (void (^)(void*, NSUInteger))deallocator {
  return emulator::make_buffer_no_copy(self, pointer, length, options,
                                       deallocator);
}

- (id<MTLLibrary>)newLibraryWithSource:(NSString*)source
                               options:(MTLCompileOptions*)options
                                 error:(NSError**)error {
  (void)options;
  return emulator::make_library(self, source, error);
}
- (id<MTLComputePipelineState>)
    newComputePipelineStateWithFunction:(id<MTLFunction>)function
                                  error:(NSError**)error {
  (void)error;
  return emulator::make_pipeline(function);
}
- (id<MTLEvent>)newEvent {
  return emulator::make_shared_event(self);
}
- (id<MTLSharedEvent>)newSharedEvent {
  return emulator::make_shared_event(self);
}
@end

id<MTLDevice> MTLCreateSystemDefaultDevice(void) {
  if (!emulator::has_device()) return nil;
  static EmulatedDevice* const device = [EmulatedDevice new];
  return [device retain];
}

NSArray<id<MTLDevice>>* MTLCopyAllDevices(void) {
  id<MTLDevice> device = MTLCreateSystemDefaultDevice();
  NSArray* all = device ? [[NSArray alloc] initWithObjects:&device count:1]
                        : [NSArray new];
  [device release];
  return all;
}

BOOL MPSSupportsMTLDevice(id<MTLDevice> device) { return device != nil; }
