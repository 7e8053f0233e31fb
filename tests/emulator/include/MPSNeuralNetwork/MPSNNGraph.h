// SPDX-License-Identifier: MIT

// MPSNNGraph: a snapshot of connected nodes that runs.
#pragma once

#import <MPSNeuralNetwork/MPSNNGraphNodes.h>

NS_ASSUME_NONNULL_BEGIN

typedef void (^MPSNNGraphCompletionHandler)(MPSImage* _Nullable result,
                                            NSError* _Nullable error);

@interface MPSNNGraph : MPSKernel {
  void* _program;
  BOOL _outputStateIsTemporary, _resultImageIsNeeded;
  id<MPSImageAllocator> _destinationImageAllocator;
  MPSImageFeatureChannelFormat _format;
}
/// Arguments come in the order of these lists.
@property(readonly, copy, nonatomic) NSArray<id<MPSHandle>>* sourceImageHandles;
@property(readonly, nullable, copy, nonatomic)
    NSArray<id<MPSHandle>>* sourceStateHandles;
@property(readonly, nullable, copy, nonatomic)
    NSArray<id<MPSHandle>>* intermediateImageHandles;
@property(readonly, nullable, copy, nonatomic)
    NSArray<id<MPSHandle>>* resultStateHandles;
@property(readonly, nullable, nonatomic) id<MPSHandle> resultHandle;
@property(readwrite, nonatomic) BOOL outputStateIsTemporary;
@property(readwrite, nonatomic, retain) id<MPSImageAllocator>
    destinationImageAllocator;
@property(readwrite, nonatomic) MPSImageFeatureChannelFormat format;
@property(readonly, nonatomic) BOOL resultImageIsNeeded;

- (nullable instancetype)initWithDevice:(id<MTLDevice>)device
                            resultImage:(MPSNNImageNode*)resultImage
                    resultImageIsNeeded:(BOOL)resultIsNeeded;
+ (nullable instancetype)graphWithDevice:(id<MTLDevice>)device
                             resultImage:(MPSNNImageNode*)resultImage
                     resultImageIsNeeded:(BOOL)resultIsNeeded;
- (nullable instancetype)initWithDevice:(id<MTLDevice>)device
                           resultImages:(NSArray<MPSNNImageNode*>*)resultImages
                       resultsAreNeeded:(nullable BOOL*)areResultsNeeded;
+ (nullable instancetype)graphWithDevice:(id<MTLDevice>)device
                            resultImages:(NSArray<MPSNNImageNode*>*)resultImages
                        resultsAreNeeded:(nullable BOOL*)areResultsNeeded;
- (void)reloadFromDataSources;

- (nullable MPSImage*)
    encodeToCommandBuffer:(id<MTLCommandBuffer>)commandBuffer
             sourceImages:(NSArray<MPSImage*>*)sourceImages
             sourceStates:(nullable NSArray<MPSState*>*)sourceStates
       intermediateImages:
           (nullable NSMutableArray<MPSImage*>*)intermediateImages
        destinationStates:
            (nullable NSMutableArray<MPSState*>*)destinationStates;
- (nullable MPSImageBatch*)
    encodeBatchToCommandBuffer:(id<MTLCommandBuffer>)commandBuffer
                  sourceImages:(NSArray<MPSImageBatch*>*)sourceImages
                  sourceStates:(nullable NSArray<MPSStateBatch*>*)sourceStates
            intermediateImages:
                (nullable NSMutableArray<MPSImageBatch*>*)intermediateImages
             destinationStates:
                 (nullable NSMutableArray<MPSStateBatch*>*)destinationStates;
- (nullable MPSImage*)encodeToCommandBuffer:(id<MTLCommandBuffer>)commandBuffer
                               sourceImages:(NSArray<MPSImage*>*)sourceImages;
- (nullable MPSImageBatch*)
    encodeBatchToCommandBuffer:(id<MTLCommandBuffer>)commandBuffer
                  sourceImages:(NSArray<MPSImageBatch*>*)sourceImages
                  sourceStates:(nullable NSArray<MPSStateBatch*>*)sourceStates;
- (MPSImage*)executeAsyncWithSourceImages:(NSArray<MPSImage*>*)sourceImages
                        completionHandler:(MPSNNGraphCompletionHandler)handler;
- (NSUInteger)readCountForSourceImageAtIndex:(NSUInteger)index;
- (NSUInteger)readCountForSourceStateAtIndex:(NSUInteger)index;
@end

NS_ASSUME_NONNULL_END
