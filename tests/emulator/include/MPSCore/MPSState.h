// SPDX-License-Identifier: MIT

// MPSState: what kernels leave besides images.
#pragma once

#import <MPSCore/MPSCoreTypes.h>

NS_ASSUME_NONNULL_BEGIN

@interface MPSState : NSObject {
  void* _filterState;
  NSArray<id<MTLResource>>* _resources;
  void* _commandBuffer;
  NSUInteger _readCount;
  NSString* _label;
}
@property(readonly, nonatomic) NSUInteger resourceCount;
@property(readwrite, nonatomic) NSUInteger readCount;
@property(readonly, nonatomic) BOOL isTemporary;
@property(nullable, copy, atomic) NSString* label;

- (nullable id<MTLResource>)resourceAtIndex:(NSUInteger)index
                             allocateMemory:(BOOL)allocateMemory;
- (void)synchronizeOnCommandBuffer:(id<MTLCommandBuffer>)commandBuffer;
- (NSUInteger)resourceSize;
@end

typedef NSArray<MPSState*> MPSStateBatch;

MTL_EXTERN NSUInteger MPSStateBatchIncrementReadCount(
    MPSStateBatch* _Nullable batch, NSInteger amount);
MTL_EXTERN void MPSStateBatchSynchronize(MPSStateBatch* batch,
                                         id<MTLCommandBuffer> cmdBuf);
MTL_EXTERN NSUInteger MPSStateBatchResourceSize(MPSStateBatch* _Nullable batch);

NS_ASSUME_NONNULL_END
