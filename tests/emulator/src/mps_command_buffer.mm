// SPDX-License-Identifier: MIT
// MPSCommandBuffer: hands everything to the live Metal buffer, or to another
// MPSCommandBuffer that it wraps.
#import "objects.h"

using emulator::refuse;

@implementation MPSCommandBuffer
@synthesize commandBuffer = _commandBuffer;

+ (instancetype)commandBufferWithCommandBuffer:(id<MTLCommandBuffer>)buffer {
  return [[[self alloc] initWithCommandBuffer:buffer] autorelease];
}

+ (instancetype)commandBufferFromCommandQueue:(id<MTLCommandQueue>)queue {
  if (!queue) refuse("commandBufferFromCommandQueue", @"the queue is nil");
  return [self commandBufferWithCommandBuffer:[queue commandBuffer]];
}

- (instancetype)initWithCommandBuffer:(id<MTLCommandBuffer>)buffer {
  if (!buffer) refuse("initWithCommandBuffer", @"the command buffer is nil");
  self = [super init];
  _commandBuffer = [buffer retain];
  emulator::count_birth(self);
  emulator::register_command_buffer(self);
  return self;
}

- (void)dealloc {
  emulator::forget_command_buffer(self);
  emulator::count_death(self);
  [_commandBuffer release];
  [super dealloc];
}

- (id<MTLCommandBuffer>)rootCommandBuffer {
  return emulator::live_buffer(_commandBuffer);
}

- (void)commitAndContinue {
  if ([_commandBuffer isKindOfClass:[MPSCommandBuffer class]]) {
    [(MPSCommandBuffer*)_commandBuffer commitAndContinue];
  } else {
    [self replaceCommandBuffer];
  }
}

- (void)replaceCommandBuffer {
  id<MTLCommandBuffer> committed = _commandBuffer;
  [committed commit];
  _commandBuffer = [[[committed commandQueue] commandBuffer] retain];
  [committed release];
}

- (void)prefetchHeapForWorkloadSize:(size_t)size {
  (void)size;
}

- (id<MTLDevice>)device {
  return [_commandBuffer device];
}
- (id<MTLCommandQueue>)commandQueue {
  return [_commandBuffer commandQueue];
}
- (BOOL)retainedReferences {
  return [_commandBuffer retainedReferences];
}
- (MTLCommandBufferErrorOption)errorOptions {
  return [_commandBuffer errorOptions];
}
- (NSString*)label {
  return [_commandBuffer label];
}
- (void)setLabel:(NSString*)label {
  [_commandBuffer setLabel:label];
}
- (CFTimeInterval)kernelStartTime {
  return [_commandBuffer kernelStartTime];
}
- (CFTimeInterval)kernelEndTime {
  return [_commandBuffer kernelEndTime];
}
- (CFTimeInterval)GPUStartTime {
  return [_commandBuffer GPUStartTime];
}
- (CFTimeInterval)GPUEndTime {
  return [_commandBuffer GPUEndTime];
}
- (MTLCommandBufferStatus)status {
  return [_commandBuffer status];
}
- (NSError*)error {
  return [_commandBuffer error];
}
- (void)enqueue {
  [_commandBuffer enqueue];
}
- (void)commit {
  [_commandBuffer commit];
}
- (void)addScheduledHandler:(MTLCommandBufferHandler)block {
  [_commandBuffer addScheduledHandler:block];
}
- (void)addCompletedHandler:(MTLCommandBufferHandler)block {
  [_commandBuffer addCompletedHandler:block];
}
- (void)waitUntilScheduled {
  [_commandBuffer waitUntilScheduled];
}
- (void)waitUntilCompleted {
  [_commandBuffer waitUntilCompleted];
}
- (id<MTLBlitCommandEncoder>)blitCommandEncoder {
  return [_commandBuffer blitCommandEncoder];
}
- (id<MTLComputeCommandEncoder>)computeCommandEncoder {
  return [_commandBuffer computeCommandEncoder];
}
- (void)encodeWaitForEvent:(id<MTLEvent>)event value:(uint64_t)value {
  [_commandBuffer encodeWaitForEvent:event value:value];
}
- (void)encodeSignalEvent:(id<MTLEvent>)event value:(uint64_t)value {
  [_commandBuffer encodeSignalEvent:event value:value];
}
- (void)pushDebugGroup:(NSString*)string {
  [_commandBuffer pushDebugGroup:string];
}
- (void)popDebugGroup {
  [_commandBuffer popDebugGroup];
}
@end
