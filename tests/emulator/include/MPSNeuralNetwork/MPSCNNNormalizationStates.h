// SPDX-License-Identifier: MIT
// Data sources and states of batch, instance and group normalization.
#pragma once

#import <MPSNeuralNetwork/MPSCNNKernel.h>
#import <MPSNeuralNetwork/MPSNNGradientState.h>

NS_ASSUME_NONNULL_BEGIN

@class MPSCNNBatchNormalization;
@class MPSCNNInstanceNormalization;
@class MPSCNNGroupNormalization;

@interface MPSCNNNormalizationGammaAndBetaState : MPSState
@property(readonly, nonatomic) id<MTLBuffer> gamma;
@property(readonly, nonatomic) id<MTLBuffer> beta;
- (instancetype)initWithGamma:(id<MTLBuffer>)gamma beta:(id<MTLBuffer>)beta;
+ (instancetype)
    temporaryStateWithCommandBuffer:(id<MTLCommandBuffer>)commandBuffer
            numberOfFeatureChannels:(NSUInteger)numberOfFeatureChannels;
@end

@interface MPSCNNNormalizationMeanAndVarianceState : MPSState
@property(readonly, nonatomic) id<MTLBuffer> mean;
@property(readonly, nonatomic) id<MTLBuffer> variance;
- (instancetype)initWithMean:(id<MTLBuffer>)mean
                    variance:(id<MTLBuffer>)variance;
+ (instancetype)
    temporaryStateWithCommandBuffer:(id<MTLCommandBuffer>)commandBuffer
            numberOfFeatureChannels:(NSUInteger)numberOfFeatureChannels;
@end

/// One for the whole batch.
@interface MPSCNNBatchNormalizationState : MPSNNGradientState
@property(readonly, retain, nonatomic)
    MPSCNNBatchNormalization* batchNormalization;
- (void)reset;
- (nullable id<MTLBuffer>)gamma;
- (nullable id<MTLBuffer>)beta;
- (nullable id<MTLBuffer>)mean;
- (nullable id<MTLBuffer>)variance;
- (nullable id<MTLBuffer>)gradientForGamma;
- (nullable id<MTLBuffer>)gradientForBeta;
@end

/// One per image: its part of the gradients.
@interface MPSCNNInstanceNormalizationGradientState : MPSNNGradientState
@property(readonly, nonatomic, retain)
    MPSCNNInstanceNormalization* instanceNormalization;
@property(readonly, nonatomic, nullable) id<MTLBuffer> gamma;
@property(readonly, nonatomic, nullable) id<MTLBuffer> beta;
@property(readonly, nonatomic) id<MTLBuffer> gradientForGamma;
@property(readonly, nonatomic) id<MTLBuffer> gradientForBeta;
@end
typedef NSArray<MPSCNNInstanceNormalizationGradientState*>
    MPSCNNInstanceNormalizationGradientStateBatch;

/// One per image: its part of the gradients.
@interface MPSCNNGroupNormalizationGradientState : MPSNNGradientState
@property(readonly, nonatomic, retain)
    MPSCNNGroupNormalization* groupNormalization;
@property(readonly, nonatomic, nullable) id<MTLBuffer> gamma;
@property(readonly, nonatomic, nullable) id<MTLBuffer> beta;
@property(readonly, nonatomic) id<MTLBuffer> gradientForGamma;
@property(readonly, nonatomic) id<MTLBuffer> gradientForBeta;
@end
typedef NSArray<MPSCNNGroupNormalizationGradientState*>
    MPSCNNGroupNormalizationGradientStateBatch;

@protocol MPSCNNBatchNormalizationDataSource <NSObject, NSCopying>
- (NSUInteger)numberOfFeatureChannels;
- (nullable float*)gamma;
- (nullable float*)beta;
- (nullable float*)mean;
- (nullable float*)variance;
- (BOOL)load;
- (void)purge;
- (nullable NSString*)label;
@optional
- (nullable MPSCNNNormalizationGammaAndBetaState*)
    updateGammaAndBetaWithCommandBuffer:(id<MTLCommandBuffer>)commandBuffer
                batchNormalizationState:
                    (MPSCNNBatchNormalizationState*)batchNormalizationState;
- (nullable MPSCNNNormalizationMeanAndVarianceState*)
    updateMeanAndVarianceWithCommandBuffer:(id<MTLCommandBuffer>)commandBuffer
                   batchNormalizationState:
                       (MPSCNNBatchNormalizationState*)batchNormalizationState;
- (BOOL)updateGammaAndBetaWithBatchNormalizationState:
    (MPSCNNBatchNormalizationState*)batchNormalizationState;
- (BOOL)updateMeanAndVarianceWithBatchNormalizationState:
    (MPSCNNBatchNormalizationState*)batchNormalizationState;
- (float)epsilon;
- (void)encodeWithCoder:(NSCoder*)coder;
- (nullable instancetype)initWithCoder:(NSCoder*)coder;
- (instancetype)copyWithZone:(nullable NSZone*)zone
                      device:(nullable id<MTLDevice>)device;
@end

@protocol MPSCNNInstanceNormalizationDataSource <NSObject, NSCopying>
- (nullable float*)gamma;
- (nullable float*)beta;
@property(readonly, nonatomic) NSUInteger numberOfFeatureChannels;
- (nullable NSString*)label;
@optional
- (nullable MPSCNNNormalizationGammaAndBetaState*)
    updateGammaAndBetaWithCommandBuffer:(id<MTLCommandBuffer>)commandBuffer
        instanceNormalizationStateBatch:
            (MPSCNNInstanceNormalizationGradientStateBatch*)
                instanceNormalizationStateBatch;
- (BOOL)updateGammaAndBetaWithInstanceNormalizationStateBatch:
    (MPSCNNInstanceNormalizationGradientStateBatch*)
        instanceNormalizationStateBatch;
- (float)epsilon;
- (void)encodeWithCoder:(NSCoder*)coder;
- (nullable instancetype)initWithCoder:(NSCoder*)coder;
- (instancetype)copyWithZone:(nullable NSZone*)zone
                      device:(nullable id<MTLDevice>)device;
- (BOOL)load;
- (void)purge;
@end

@protocol MPSCNNGroupNormalizationDataSource <NSObject, NSCopying>
- (nullable float*)gamma;
- (nullable float*)beta;
@property(readonly, nonatomic) NSUInteger numberOfFeatureChannels;
@property(readwrite, nonatomic) NSUInteger numberOfGroups;
- (nullable NSString*)label;
@optional
- (nullable MPSCNNNormalizationGammaAndBetaState*)
    updateGammaAndBetaWithCommandBuffer:(id<MTLCommandBuffer>)commandBuffer
           groupNormalizationStateBatch:
               (MPSCNNGroupNormalizationGradientStateBatch*)
                   groupNormalizationStateBatch;
- (BOOL)updateGammaAndBetaWithGroupNormalizationStateBatch:
    (MPSCNNGroupNormalizationGradientStateBatch*)groupNormalizationStateBatch;
- (float)epsilon;
- (void)encodeWithCoder:(NSCoder*)coder;
- (nullable instancetype)initWithCoder:(NSCoder*)coder;
- (instancetype)copyWithZone:(nullable NSZone*)zone
                      device:(nullable id<MTLDevice>)device;
@end

@interface MPSCNNBatchNormalization : MPSCNNKernel {
  id<MPSCNNBatchNormalizationDataSource> _dataSource;
}
@property(readonly, nonatomic, retain) id<MPSCNNBatchNormalizationDataSource>
    dataSource;
@end

@interface MPSCNNInstanceNormalization : MPSCNNKernel {
  id<MPSCNNInstanceNormalizationDataSource> _dataSource;
}
@property(readonly, nonatomic, retain) id<MPSCNNInstanceNormalizationDataSource>
    dataSource;
@end

@interface MPSCNNGroupNormalization : MPSCNNKernel {
  id<MPSCNNGroupNormalizationDataSource> _dataSource;
}
@property(readonly, nonatomic, retain) id<MPSCNNGroupNormalizationDataSource>
    dataSource;
@end

NS_ASSUME_NONNULL_END
