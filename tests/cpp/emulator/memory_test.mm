// SPDX-License-Identifier: MIT
// Devices, buffers and heaps of the emulator.
#import "core_support.h"
#include "emulator/control.h"

namespace {

using MemoryTest = CoreTest;

MTLHeapDescriptor* heap_descriptor(NSUInteger size, MTLHeapType type) {
  MTLHeapDescriptor* descriptor = [[MTLHeapDescriptor new] autorelease];
  [descriptor setSize:size];
  [descriptor setStorageMode:MTLStorageModeShared];
  [descriptor setType:type];
  return descriptor;
}

TEST_F(MemoryTest, DeviceTellsWhatItIs) {
  EXPECT_TRUE([[device_ name] length] > 0);
  EXPECT_TRUE([device_ hasUnifiedMemory]);
  EXPECT_TRUE([device_ supportsFamily:MTLGPUFamilyMetal3]);
  EXPECT_FALSE([device_ isLowPower]);
  EXPECT_TRUE(MPSSupportsMTLDevice(device_));
  NSArray* all = [MTLCopyAllDevices() autorelease];
  ASSERT_EQ([all count], 1u);
  EXPECT_EQ([all objectAtIndex:0], device_);
  emulator::set_has_device(false);
  EXPECT_EQ(MTLCreateSystemDefaultDevice(), nil);
  EXPECT_EQ([[MTLCopyAllDevices() autorelease] count], 0u);
  emulator::set_has_device(true);
}

TEST_F(MemoryTest, BuffersBeginZeroedAndAreCounted) {
  id<MTLBuffer> buffer = [[device_ newBufferWithLength:100
                                               options:0] autorelease];
  EXPECT_EQ(floats(buffer), std::vector<float>(25, 0));
  EXPECT_EQ(emulator::allocated_bytes(), 100u);
  EXPECT_EQ([device_ currentAllocatedSize], 100u);
  EXPECT_EQ(emulator::live_objects()["MTLBuffer"], 1);
  EXPECT_EQ([buffer storageMode], MTLStorageModeShared);
  EXPECT_EQ([device_ newBufferWithLength:0 options:0], nil);
}

TEST_F(MemoryTest, AllocationFailsOnDemandAndBeyondTheLimit) {
  emulator::fail_allocation(1);
  EXPECT_NE([[device_ newBufferWithLength:4 options:0] autorelease], nil);
  EXPECT_EQ([device_ newBufferWithLength:4 options:0], nil);
  EXPECT_NE([[device_ newBufferWithLength:4 options:0] autorelease], nil);
  emulator::set_memory_limit(1000);
  EXPECT_EQ([device_ maxBufferLength], 500u);
  EXPECT_EQ([device_ newBufferWithLength:501 options:0], nil);
  // Two of 4 bytes are there.
  EXPECT_NE([[device_ newBufferWithLength:496 options:0] autorelease], nil);
  EXPECT_EQ([device_ newBufferWithLength:497 options:0], nil);
  EXPECT_NE([[device_ newBufferWithLength:496 options:0] autorelease], nil);
  emulator::set_memory_limit(std::size_t{8} << 30);
}

TEST_F(MemoryTest, PrivateBuffersHideTheirContents) {
  id<MTLBuffer> buffer =
      [[device_ newBufferWithLength:4
                            options:MTLResourceStorageModePrivate] autorelease];
  EXPECT_EQ([buffer contents], nullptr);
}

TEST_F(MemoryTest, NoCopyBuffersNeedPagesAndCallTheDeallocator) {
  void* pages = std::aligned_alloc(4096, 8192);
  __block bool is_called = false;
  id<MTLBuffer> buffer =
      [device_ newBufferWithBytesNoCopy:pages
                                 length:8192
                                options:0
                            deallocator:^(void* pointer, NSUInteger length) {
                              EXPECT_EQ(pointer, pages);
                              EXPECT_EQ(length, 8192u);
                              is_called = true;
                            }];
  EXPECT_EQ([buffer contents], pages);
  EXPECT_EQ(emulator::allocated_bytes(), 0u);
  [buffer release];
  EXPECT_TRUE(is_called);
  EXPECT_NE(raised(^{
              [device_ newBufferWithBytesNoCopy:(char*)pages + 4
                                         length:4096
                                        options:0
                                    deallocator:nil];
            }),
            "");
  std::free(pages);
}

TEST_F(MemoryTest, ManagedBuffersOfDiscreteDevicesHaveTwoCopies) {
  emulator::set_has_unified_memory(false);
  id<MTLBuffer> managed = make_floats({1, 2}, MTLResourceStorageModeManaged);
  id<MTLBuffer> copy = make_floats({0, 0}, MTLResourceStorageModeManaged);
  data(managed)[0] = 5;
  data(managed)[1] = 6;
  [managed didModifyRange:NSMakeRange(4, 4)];
  id<MTLCommandBuffer> buffer = command_buffer();
  id<MTLBlitCommandEncoder> blit = [buffer blitCommandEncoder];
  [blit copyFromBuffer:managed
           sourceOffset:0
               toBuffer:copy
      destinationOffset:0
                   size:8];
  [blit endEncoding];
  [buffer commit];
  [buffer waitUntilCompleted];
  EXPECT_EQ(floats(copy), (std::vector<float>{0, 0}));
  buffer = command_buffer();
  blit = [buffer blitCommandEncoder];
  [blit synchronizeResource:copy];
  [blit endEncoding];
  [buffer commit];
  [buffer waitUntilCompleted];
  EXPECT_EQ(floats(copy), (std::vector<float>{1, 6}));
  emulator::set_has_unified_memory(true);
}

TEST_F(MemoryTest, SynchronisingIsForManagedStorage) {
  id<MTLBuffer> shared = make_floats({1});
  EXPECT_NE(raised(^{
              [shared didModifyRange:NSMakeRange(0, 4)];
            }),
            "");
  id<MTLBlitCommandEncoder> blit = [command_buffer() blitCommandEncoder];
  EXPECT_NE(raised(^{
              [blit synchronizeResource:shared];
            }),
            "");
}

TEST_F(MemoryTest, PlacementHeapsPlaceBuffersAtOffsets) {
  id<MTLHeap> heap = [[device_
      newHeapWithDescriptor:heap_descriptor(1024, MTLHeapTypePlacement)]
      autorelease];
  EXPECT_EQ(emulator::allocated_bytes(), 1024u);
  id<MTLBuffer> first = [[heap newBufferWithLength:300 options:0
                                            offset:0] autorelease];
  id<MTLBuffer> second = [[heap newBufferWithLength:256 options:0
                                             offset:256] autorelease];
  EXPECT_EQ((char*)[second contents], (char*)[first contents] + 256);
  EXPECT_EQ([second heapOffset], 256u);
  EXPECT_EQ([second heap], heap);
  EXPECT_EQ([heap usedSize], 512u);
  EXPECT_EQ(emulator::allocated_bytes(), 1024u);
  EXPECT_NE(raised(^{
              [heap newBufferWithLength:4 options:0 offset:100];
            }),
            "");
  EXPECT_NE(raised(^{
              [heap newBufferWithLength:300 options:0 offset:768];
            }),
            "");
  EXPECT_NE(raised(^{
              [heap newBufferWithLength:4
                                options:MTLResourceStorageModePrivate
                                 offset:0];
            }),
            "");
  EXPECT_NE(raised(^{
              [heap newBufferWithLength:4 options:0];
            }),
            "");
  EXPECT_EQ([heap newBufferWithLength:0 options:0 offset:0], nil);
}

TEST_F(MemoryTest, BuffersKeepTheirHeap) {
  id<MTLHeap> heap = [device_
      newHeapWithDescriptor:heap_descriptor(1024, MTLHeapTypePlacement)];
  id<MTLBuffer> buffer = [heap newBufferWithLength:4 options:0 offset:512];
  [heap release];
  EXPECT_EQ(emulator::allocated_bytes(), 1024u);
  data(buffer)[0] = 3;
  [buffer release];
  EXPECT_EQ(emulator::allocated_bytes(), 0u);
}

TEST_F(MemoryTest, AutomaticHeapsFindRoom) {
  id<MTLHeap> heap = [[device_
      newHeapWithDescriptor:heap_descriptor(768, MTLHeapTypeAutomatic)]
      autorelease];
  id<MTLBuffer> first = [heap newBufferWithLength:256 options:0];
  id<MTLBuffer> second = [[heap newBufferWithLength:200 options:0] autorelease];
  EXPECT_EQ([second heapOffset], 256u);
  EXPECT_EQ([heap maxAvailableSizeWithAlignment:256], 256u);
  EXPECT_EQ([heap newBufferWithLength:257 options:0], nil);
  [first release];
  EXPECT_EQ([[[heap newBufferWithLength:256 options:0] autorelease] heapOffset],
            0u);
}

TEST_F(MemoryTest, HeapsHaveRules) {
  const MTLSizeAndAlign size = [device_ heapBufferSizeAndAlignWithLength:300
                                                                 options:0];
  EXPECT_EQ(size.size, 512u);
  EXPECT_EQ(size.align, 256u);
  MTLHeapDescriptor* descriptor = heap_descriptor(1024, MTLHeapTypePlacement);
  EXPECT_EQ([descriptor resourceOptions], MTLResourceStorageModeShared);
  [descriptor setHazardTrackingMode:MTLHazardTrackingModeTracked];
  EXPECT_EQ([descriptor resourceOptions], MTLResourceHazardTrackingModeTracked);
  emulator::fail_allocation();
  EXPECT_EQ([device_ newHeapWithDescriptor:descriptor], nil);
  [descriptor setStorageMode:MTLStorageModeManaged];
  EXPECT_NE(raised(^{
              [device_ newHeapWithDescriptor:descriptor];
            }),
            "");
  [descriptor setStorageMode:MTLStorageModePrivate];
  [descriptor setSize:0];
  EXPECT_NE(raised(^{
              [device_ newHeapWithDescriptor:descriptor];
            }),
            "");
}

}  // namespace
