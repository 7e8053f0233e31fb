// SPDX-License-Identifier: MIT
// MPSCommandBuffer: a command buffer whose Metal object may be replaced while
// one encodes.
#pragma once

#import <MPSCore/MPSCoreTypes.h>

NS_ASSUME_NONNULL_BEGIN

@interface MPSCommandBuffer : NSObject <MTLCommandBuffer> {
  id<MTLCommandBuffer> _commandBuffer;
}
@property(readonly, retain, nonatomic) id<MTLCommandBuffer> commandBuffer;
@property(readonly, retain, nonatomic) id<MTLCommandBuffer> rootCommandBuffer;

+ (instancetype)commandBufferWithCommandBuffer:
    (id<MTLCommandBuffer>)commandBuffer;
+ (instancetype)commandBufferFromCommandQueue:(id<MTLCommandQueue>)commandQueue;
- (instancetype)initWithCommandBuffer:(id<MTLCommandBuffer>)commandBuffer;
- (void)commitAndContinue;
- (void)prefetchHeapForWorkloadSize:(size_t)size;
@end

NS_ASSUME_NONNULL_END
