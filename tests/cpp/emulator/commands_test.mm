// SPDX-License-Identifier: MIT
// Command queues, buffers, encoders, events and kernels of the emulator.
#include <atomic>
#include <chrono>
#include <thread>

#import "core_support.h"
#include "emulator/control.h"
#include "emulator/kernels.h"

namespace {

using CommandsTest = CoreTest;

void fill(id<MTLCommandBuffer> buffer, id<MTLBuffer> target, uint8_t value) {
  id<MTLBlitCommandEncoder> blit = [buffer blitCommandEncoder];
  [blit fillBuffer:target range:NSMakeRange(0, [target length]) value:value];
  [blit endEncoding];
}

TEST_F(CommandsTest, WorkIsDoneAfterCommitOnly) {
  id<MTLBuffer> source = make_floats({1, 2, 3});
  id<MTLBuffer> target = make_floats({0, 0, 0});
  id<MTLCommandBuffer> buffer = command_buffer();
  id<MTLBlitCommandEncoder> blit = [buffer blitCommandEncoder];
  [blit copyFromBuffer:source
           sourceOffset:4
               toBuffer:target
      destinationOffset:0
                   size:8];
  [blit endEncoding];
  EXPECT_EQ([buffer status], MTLCommandBufferStatusNotEnqueued);
  EXPECT_EQ([buffer GPUEndTime], 0);
  data(source)[2] = 7;
  [buffer commit];
  [buffer waitUntilCompleted];
  EXPECT_EQ([buffer status], MTLCommandBufferStatusCompleted);
  EXPECT_EQ([buffer error], nil);
  EXPECT_GE([buffer GPUEndTime], [buffer GPUStartTime]);
  EXPECT_GT([buffer GPUStartTime], 0);
  EXPECT_EQ(floats(target), (std::vector<float>{2, 7, 0}));
}

TEST_F(CommandsTest, HandlersRunOnAnotherThread) {
  id<MTLCommandBuffer> buffer = command_buffer();
  auto order = std::make_shared<std::vector<int>>();
  const auto here = std::this_thread::get_id();
  auto is_elsewhere = std::make_shared<std::atomic<bool>>(false);
  [buffer addScheduledHandler:^(id<MTLCommandBuffer>) {
    order->push_back(1);
  }];
  [buffer addCompletedHandler:^(id<MTLCommandBuffer> done) {
    order->push_back([done status] == MTLCommandBufferStatusCompleted ? 2 : 0);
    *is_elsewhere = std::this_thread::get_id() != here;
  }];
  [buffer addCompletedHandler:^(id<MTLCommandBuffer>) {
    order->push_back(3);
  }];
  [buffer commit];
  emulator::wait_until_idle();
  EXPECT_EQ(*order, (std::vector<int>{1, 2, 3}));
  EXPECT_TRUE(*is_elsewhere);
}

TEST_F(CommandsTest, MisuseRaises) {
  id<MTLCommandBuffer> buffer = command_buffer();
  EXPECT_NE(raised(^{
              [buffer waitUntilCompleted];
            }),
            "");
  id<MTLBlitCommandEncoder> blit = [buffer blitCommandEncoder];
  EXPECT_NE(raised(^{
              [buffer commit];
            }),
            "");
  EXPECT_NE(raised(^{
              [buffer computeCommandEncoder];
            }),
            "");
  [blit endEncoding];
  EXPECT_NE(raised(^{
              [blit endEncoding];
            }),
            "");
  id<MTLBuffer> target = make_floats({0});
  EXPECT_NE(raised(^{
              [blit fillBuffer:target range:NSMakeRange(0, 4) value:0];
            }),
            "");
  [buffer commit];
  EXPECT_NE(raised(^{
              [buffer commit];
            }),
            "");
  EXPECT_NE(raised(^{
              [buffer blitCommandEncoder];
            }),
            "");
  EXPECT_NE(raised(^{
              [buffer addCompletedHandler:^(id<MTLCommandBuffer>){
              }];
            }),
            "");
}

TEST_F(CommandsTest, BlitChecksRanges) {
  id<MTLBuffer> buffer = make_floats({1, 2});
  id<MTLBlitCommandEncoder> blit = [command_buffer() blitCommandEncoder];
  EXPECT_NE(raised(^{
              [blit fillBuffer:buffer range:NSMakeRange(4, 8) value:0];
            }),
            "");
  EXPECT_NE(raised(^{
              [blit fillBuffer:buffer range:NSMakeRange(2, 4) value:0];
            }),
            "");
  EXPECT_NE(raised(^{
              [blit copyFromBuffer:buffer
                       sourceOffset:0
                           toBuffer:buffer
                  destinationOffset:0
                               size:4];
            }),
            "");
}

TEST_F(CommandsTest, BuffersRunInTheOrderOfEnqueuing) {
  id<MTLBuffer> target = make_floats({0});
  id<MTLCommandBuffer> first = command_buffer();
  id<MTLCommandBuffer> second = command_buffer();
  fill(first, target, 1);
  fill(second, target, 2);
  [first enqueue];
  EXPECT_EQ([first status], MTLCommandBufferStatusEnqueued);
  [second commit];
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ([second status], MTLCommandBufferStatusCommitted);
  [first commit];
  [second waitUntilCompleted];
  EXPECT_EQ(*(char*)[target contents], 2);
}

TEST_F(CommandsTest, WhatIsNeverCommittedHoldsUpNobody) {
  id<MTLCommandBuffer> last;
  @autoreleasepool {
    [command_buffer() enqueue];
    last = [command_buffer() retain];
    [last commit];
  }
  [last waitUntilCompleted];
  [last release];
}

TEST_F(CommandsTest, BuffersInFlightKeepWhatTheyUse) {
  auto result = std::make_shared<std::atomic<char>>(0);
  @autoreleasepool {
    id<MTLBuffer> target = [device_ newBufferWithLength:4 options:0];
    id<MTLBuffer> source = [device_ newBufferWithLength:4 options:0];
    *(char*)[source contents] = 3;
    id<MTLCommandBuffer> buffer = command_buffer();
    id<MTLBlitCommandEncoder> blit = [buffer blitCommandEncoder];
    [blit copyFromBuffer:source
             sourceOffset:0
                 toBuffer:target
        destinationOffset:0
                     size:4];
    [blit endEncoding];
    [buffer addCompletedHandler:^(id<MTLCommandBuffer>) {
      *result = *(char*)[target contents];
    }];
    [target release];
    [source release];
    [buffer commit];
  }
  emulator::wait_until_idle();
  EXPECT_EQ(*result, 3);
}

TEST_F(CommandsTest, QueuesHaveSoManyPlaces) {
  id<MTLCommandQueue> queue =
      [[device_ newCommandQueueWithMaxCommandBufferCount:2] autorelease];
  for (int i = 0; i < 10; ++i) {
    @autoreleasepool {
      [[queue commandBuffer] commit];
      [queue commandBuffer];
    }
  }
}

TEST_F(CommandsTest, FailuresOnDemandSkipTheWork) {
  id<MTLBuffer> target = make_floats({1});
  emulator::fail_command_buffer(MTLCommandBufferErrorOutOfMemory, 1);
  NSError* error = nil;
  for (int i = 0; i < 2; ++i) {
    id<MTLCommandBuffer> buffer = command_buffer();
    fill(buffer, target, 10 + i);
    [buffer commit];
    [buffer waitUntilCompleted];
    error = [buffer error];
    EXPECT_EQ([buffer status], i == 0 ? MTLCommandBufferStatusCompleted
                                      : MTLCommandBufferStatusError);
  }
  EXPECT_EQ(*(char*)[target contents], 10);
  EXPECT_EQ([error code], MTLCommandBufferErrorOutOfMemory);
  EXPECT_TRUE([[error domain] isEqual:MTLCommandBufferErrorDomain]);
  EXPECT_GT([[error localizedDescription] length], 0u);
}

TEST_F(CommandsTest, CompletionsAreDelayedAndReordered) {
  emulator::reorder_completions(2);
  auto order = std::make_shared<std::vector<int>>();
  for (int i = 0; i < 5; ++i) {
    id<MTLCommandBuffer> buffer = command_buffer();
    [buffer addCompletedHandler:^(id<MTLCommandBuffer>) {
      order->push_back(i);
    }];
    [buffer commit];
  }
  emulator::wait_until_idle();
  EXPECT_EQ(*order, (std::vector<int>{1, 0, 3, 2, 4}));

  emulator::reset_faults();
  emulator::delay_completion(0.05);
  id<MTLCommandBuffer> buffer = command_buffer();
  auto is_called = std::make_shared<std::atomic<bool>>(false);
  [buffer addCompletedHandler:^(id<MTLCommandBuffer>) {
    *is_called = true;
  }];
  [buffer commit];
  [buffer waitUntilCompleted];
  EXPECT_FALSE(*is_called);
  emulator::wait_until_idle();
  EXPECT_TRUE(*is_called);
}

TEST_F(CommandsTest, SharedEventsOrderQueuesAndHosts) {
  id<MTLSharedEvent> event = [[device_ newSharedEvent] autorelease];
  MTLSharedEventListener* listener = [[MTLSharedEventListener new] autorelease];
  auto reached = std::make_shared<std::atomic<int>>(0);
  [event notifyListener:listener
                atValue:5
                  block:^(id<MTLSharedEvent>, uint64_t value) {
                    *reached = static_cast<int>(value);
                  }];
  id<MTLCommandBuffer> buffer = command_buffer();
  [buffer encodeWaitForEvent:event value:3];
  [buffer encodeSignalEvent:event value:6];
  [buffer commit];
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ([buffer status], MTLCommandBufferStatusScheduled);
  [event setSignaledValue:3];
  [buffer waitUntilCompleted];
  EXPECT_EQ([event signaledValue], 6u);
  emulator::wait_until_idle();
  EXPECT_EQ(*reached, 6);
}

const bool kIsRegistered = emulator::register_kernel(
    "scale", [](const std::vector<void*>& buffers, unsigned position) {
      static_cast<float*>(buffers[0])[position] *=
          *static_cast<const float*>(buffers[2]);
    });

id<MTLComputePipelineState> make_scale(id<MTLDevice> device) {
  NSString* source = @"kernel void scale(device float* x) {} "
                     @"kernel void unknown(device float* x) {}";
  id<MTLLibrary> library = [[device newLibraryWithSource:source
                                                 options:nil
                                                   error:nullptr] autorelease];
  EXPECT_EQ([library newFunctionWithName:@"unknown"], nil);
  EXPECT_EQ([library newFunctionWithName:@"missing"], nil);
  id<MTLFunction> function =
      [[library newFunctionWithName:@"scale"] autorelease];
  return [[device newComputePipelineStateWithFunction:function
                                                error:nullptr] autorelease];
}

TEST_F(CommandsTest, KernelsRunOverGrids) {
  ASSERT_TRUE(kIsRegistered);
  id<MTLBuffer> values = make_floats({1, 2, 3, 4, 5});
  id<MTLCommandBuffer> buffer = command_buffer();
  id<MTLComputeCommandEncoder> encoder = [buffer computeCommandEncoder];
  const float factor = 10;
  EXPECT_NE(raised(^{
              [encoder dispatchThreadgroups:MTLSizeMake(1, 1, 1)
                      threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
            }),
            "");
  [encoder setComputePipelineState:make_scale(device_)];
  EXPECT_NE(raised(^{
              [encoder dispatchThreadgroups:MTLSizeMake(1, 1, 1)
                      threadsPerThreadgroup:MTLSizeMake(1025, 1, 1)];
            }),
            "");
  EXPECT_NE(raised(^{
              [encoder setBuffer:values offset:20 atIndex:0];
            }),
            "");
  [encoder setBuffer:values offset:4 atIndex:0];
  [encoder setBytes:&factor length:sizeof(factor) atIndex:2];
  [encoder dispatchThreadgroups:MTLSizeMake(3, 1, 1)
          threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
  [encoder endEncoding];
  [buffer commit];
  [buffer waitUntilCompleted];
  EXPECT_EQ(floats(values), (std::vector<float>{1, 20, 30, 40, 5}));
}

TEST_F(CommandsTest, BrokenSourceIsAnError) {
  NSError* error = nil;
  EXPECT_EQ([device_ newLibraryWithSource:@"kernel void x() {"
                                  options:nil
                                    error:&error],
            nil);
  EXPECT_EQ([error code], MTLLibraryErrorCompileFailure);
}

TEST_F(CommandsTest, MpsCommandBufferGoesOnWithAnotherBuffer) {
  id<MTLBuffer> target = make_floats({0});
  MPSCommandBuffer* buffer =
      [MPSCommandBuffer commandBufferFromCommandQueue:queue_];
  id<MTLCommandBuffer> root = [buffer commandBuffer];
  EXPECT_EQ([buffer rootCommandBuffer], root);
  fill(buffer, target, 1);
  [buffer commitAndContinue];
  EXPECT_NE([buffer commandBuffer], root);
  EXPECT_EQ([buffer rootCommandBuffer], [buffer commandBuffer]);
  EXPECT_GE([root status], MTLCommandBufferStatusCommitted);
  EXPECT_NE(raised(^{
              [buffer waitUntilCompleted];
            }),
            "");
  fill(buffer, target, 2);
  [buffer commit];
  [buffer waitUntilCompleted];
  EXPECT_EQ(*(char*)[target contents], 2);
}

TEST_F(CommandsTest, MpsCommandBuffersWrapEachOther) {
  MPSCommandBuffer* inner =
      [MPSCommandBuffer commandBufferFromCommandQueue:queue_];
  MPSCommandBuffer* outer =
      [MPSCommandBuffer commandBufferWithCommandBuffer:inner];
  id<MTLCommandBuffer> root = [inner commandBuffer];
  EXPECT_EQ([outer rootCommandBuffer], root);
  [outer commitAndContinue];
  EXPECT_EQ([outer commandBuffer], inner);
  EXPECT_NE([inner commandBuffer], root);
  EXPECT_EQ([outer rootCommandBuffer], [inner commandBuffer]);
  EXPECT_GE([root status], MTLCommandBufferStatusCommitted);
  [outer commit];
  [inner waitUntilCompleted];
}

}  // namespace
