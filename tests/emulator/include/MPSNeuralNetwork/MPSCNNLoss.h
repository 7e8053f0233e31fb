// SPDX-License-Identifier: MIT
// What a loss computes, and the labels that it is given.
#pragma once

#import <MPSNeuralNetwork/MPSNeuralNetworkTypes.h>

NS_ASSUME_NONNULL_BEGIN

typedef NS_ENUM(uint32_t, MPSCNNLossType) {
  MPSCNNLossTypeMeanAbsoluteError = 0,
  MPSCNNLossTypeMeanSquaredError = 1,
  MPSCNNLossTypeSoftMaxCrossEntropy = 2,
  MPSCNNLossTypeSigmoidCrossEntropy = 3,
  MPSCNNLossTypeCategoricalCrossEntropy = 4,
  MPSCNNLossTypeHinge = 5,
  MPSCNNLossTypeHuber = 6,
  MPSCNNLossTypeCosineDistance = 7,
  MPSCNNLossTypeLog = 8,
  MPSCNNLossTypeKullbackLeiblerDivergence = 9,
  MPSCNNLossTypeCount = 10,
};

typedef NS_ENUM(int32_t, MPSCNNReductionType) {
  MPSCNNReductionTypeNone = 0,
  MPSCNNReductionTypeSum = 1,
  MPSCNNReductionTypeMean = 2,
  MPSCNNReductionTypeSumByNonZeroWeights = 3,
  MPSCNNReductionTypeCount = 4,
};

@interface MPSCNNLossDescriptor : NSObject <NSCopying> {
  MPSCNNLossType _lossType;
  MPSCNNReductionType _reductionType;
  BOOL _reduceAcrossBatch;
  float _weight, _labelSmoothing, _epsilon, _delta;
  NSUInteger _numberOfClasses;
}
@property(readwrite, nonatomic) MPSCNNLossType lossType;
@property(readwrite, nonatomic) MPSCNNReductionType reductionType;
@property(readwrite, nonatomic) BOOL reduceAcrossBatch;
@property(readwrite, nonatomic) float weight, labelSmoothing;
@property(readwrite, nonatomic) NSUInteger numberOfClasses;
@property(readwrite, nonatomic) float epsilon, delta;

+ (MPSCNNLossDescriptor*)cnnLossDescriptorWithType:(MPSCNNLossType)lossType
                                     reductionType:
                                         (MPSCNNReductionType)reductionType;
@end

/// Floats of labels or weights, dense unless the strides are changed.
@interface MPSCNNLossDataDescriptor : NSObject <NSCopying> {
  NSData* _data;
  MPSDataLayout _layout;
  MTLSize _size;
  NSUInteger _bytesPerRow, _bytesPerImage;
}
@property(readonly, nonatomic) MPSDataLayout layout;
/// Width, height, channels.
@property(readonly, nonatomic) MTLSize size;
@property(readwrite, nonatomic) NSUInteger bytesPerRow, bytesPerImage;

+ (nullable MPSCNNLossDataDescriptor*)
    cnnLossDataDescriptorWithData:(NSData*)data
                           layout:(MPSDataLayout)layout
                             size:(MTLSize)size;
@end

/// The graph is given it among the source states; the loss writes its image.
@interface MPSCNNLossLabels : MPSState {
  MPSImage *_lossImage, *_labelsImage, *_weightsImage;
}
/// The loss is one number.
- (instancetype)initWithDevice:(id<MTLDevice>)device
              labelsDescriptor:(MPSCNNLossDataDescriptor*)labelsDescriptor;
- (instancetype)initWithDevice:(id<MTLDevice>)device
                 lossImageSize:(MTLSize)lossImageSize
              labelsDescriptor:(MPSCNNLossDataDescriptor*)labelsDescriptor
             weightsDescriptor:
                 (nullable MPSCNNLossDataDescriptor*)weightsDescriptor;
- (instancetype)initWithDevice:(id<MTLDevice>)device
                 lossImageSize:(MTLSize)lossImageSize
                   labelsImage:(MPSImage*)labelsImage
                  weightsImage:(nullable MPSImage*)weightsImage;
- (MPSImage*)lossImage;
- (MPSImage*)labelsImage;
- (MPSImage*)weightsImage;
@end
typedef NSArray<MPSCNNLossLabels*> MPSCNNLossLabelsBatch;

NS_ASSUME_NONNULL_END
