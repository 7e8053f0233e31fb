// SPDX-License-Identifier: MIT
// For tests of the emulator's core: exceptions as texts, buffers of floats.
#pragma once

#import <Metal/Metal.h>
#import <MetalPerformanceShadersGraph/MetalPerformanceShadersGraph.h>

#include <gtest/gtest.h>

#include <string>
#include <vector>

/// The reason of the exception that `body` raises; empty when it does not.
std::string raised(void (^body)());

NSArray<NSNumber*>* shape(std::initializer_list<int> lengths);

/// What MPS calls back: may be copied and archived, as its protocols ask,
/// though nothing does.
@interface TestCallback : NSObject <NSCopying, NSSecureCoding>
@end

/// Gives every test the device and one queue, in an autorelease pool, and
/// checks afterwards that nothing stays alive.
class CoreTest : public testing::Test {
 protected:
  CoreTest();
  ~CoreTest() override;

  void TearDown() override;

  id<MTLBuffer> make_floats(const std::vector<float>& values,
                            MTLResourceOptions options = 0);
  static std::vector<float> floats(id<MTLBuffer> buffer);
  static float* data(id<MTLBuffer> buffer) {
    return static_cast<float*>([buffer contents]);
  }
  MPSGraphTensorData* wrap(id<MTLBuffer> buffer, MPSShape* shape);
  id<MTLCommandBuffer> command_buffer() { return [queue_ commandBuffer]; }

  id<MTLDevice> device_;
  id<MTLCommandQueue> queue_;
  NSAutoreleasePool* pool_;
};
