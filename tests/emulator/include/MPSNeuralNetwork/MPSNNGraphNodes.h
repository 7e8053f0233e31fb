// SPDX-License-Identifier: MIT

// What all nodes of filter graphs share. The filters have headers of their own.
#pragma once

#import <MPSNeuralNetwork/MPSNeuralNetworkTypes.h>

#import <emulator/parameters.h>

NS_ASSUME_NONNULL_BEGIN

@class MPSNNFilterNode;
@class MPSNNGradientFilterNode;

@protocol MPSHandle <NSSecureCoding, NSObject>
- (nullable NSString*)label;
@end

@protocol MPSNNTrainableNode <NSObject>
@property(readwrite, nonatomic) MPSNNTrainingStyle trainingStyle;
@end

@interface MPSNNImageNode : NSObject {
  MPSNNFilterNode* _producer;
  id<MPSHandle> _handle;
  id<MPSImageAllocator> _imageAllocator;
  MPSImageFeatureChannelFormat _format;
  BOOL _exportFromGraph, _synchronizeResource, _stopGradient;
}
@property(nonatomic, nullable, readwrite, retain) id<MPSHandle> handle;
@property(nonatomic, readwrite) MPSImageFeatureChannelFormat format;
@property(readwrite, nonatomic, retain) id<MPSImageAllocator> imageAllocator;
@property(nonatomic, readwrite) BOOL exportFromGraph, synchronizeResource,
    stopGradient;

- (instancetype)initWithHandle:(nullable NSObject<MPSHandle>*)handle;
+ (instancetype)nodeWithHandle:(nullable NSObject<MPSHandle>*)handle;
+ (instancetype)exportedNodeWithHandle:(nullable NSObject<MPSHandle>*)handle;
@end

@interface MPSNNStateNode : NSObject {
  MPSNNFilterNode* _producer;
  id<MPSHandle> _handle;
  BOOL _exportFromGraph, _synchronizeResource;
}
@property(nullable, retain, nonatomic) id<MPSHandle> handle;
@property(nonatomic, readwrite) BOOL exportFromGraph, synchronizeResource;
@end

@interface MPSNNGradientStateNode : MPSNNStateNode
@end
@interface MPSCNNConvolutionGradientStateNode : MPSNNGradientStateNode
@end
@interface MPSCNNConvolutionTransposeGradientStateNode
    : MPSCNNConvolutionGradientStateNode
@end
@interface MPSNNBinaryGradientStateNode : MPSNNStateNode
@end
@interface MPSNNMultiaryGradientStateNode : MPSNNStateNode
@end
@interface MPSNNArithmeticGradientStateNode : MPSNNBinaryGradientStateNode
@end
/// A graph is given it among the source states.
@interface MPSNNLabelsNode : MPSNNStateNode
@end

/// inferenceNode is nil for additions that the walk inserted.
typedef void (^MPSGradientNodeBlock)(MPSNNFilterNode* gradientNode,
                                     MPSNNFilterNode* inferenceNode,
                                     MPSNNImageNode* inferenceSource,
                                     MPSNNImageNode* gradientSource);

@interface MPSNNFilterNode : NSObject {
  NSArray<MPSNNImageNode*>* _sources;
  NSArray<MPSNNStateNode*>* _sourceStates;
  MPSNNImageNode* _resultImage;
  MPSNNStateNode* _resultState;
  id<MPSNNPadding> _paddingPolicy;
  NSString* _label;
}
@property(nonatomic, readonly) MPSNNImageNode* resultImage;
@property(nonatomic, readonly, nullable) MPSNNStateNode* resultState;
@property(nonatomic, readonly, nullable) NSArray<MPSNNStateNode*>* resultStates;
@property(nonatomic, readwrite, retain) id<MPSNNPadding> paddingPolicy;
@property(nullable, copy, atomic) NSString* label;

- (MPSNNGradientFilterNode*)gradientFilterWithSource:
    (MPSNNImageNode*)gradientImage;
- (MPSNNGradientFilterNode*)gradientFilterWithSources:
    (NSArray<MPSNNImageNode*>*)gradientImages;
- (NSArray<MPSNNGradientFilterNode*>*)gradientFiltersWithSources:
    (NSArray<MPSNNImageNode*>*)gradientImages;
- (NSArray<MPSNNGradientFilterNode*>*)gradientFiltersWithSource:
    (MPSNNImageNode*)gradientImage;
@end

@interface MPSNNFilterNode (TrainingGraph)
- (nullable NSArray<MPSNNFilterNode*>*)
    trainingGraphWithSourceGradient:(nullable MPSNNImageNode*)gradientImage
                        nodeHandler:(nullable MPSGradientNodeBlock)nodeHandler;
@end

/// Refuses all four gradient calls.
@interface MPSNNGradientFilterNode : MPSNNFilterNode
@end

NS_ASSUME_NONNULL_END
