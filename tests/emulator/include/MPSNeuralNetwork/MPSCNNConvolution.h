// SPDX-License-Identifier: MIT
// Descriptors, data sources and states of convolutions.
#pragma once

#import <MPSNeuralNetwork/MPSCNNKernel.h>
#import <MPSNeuralNetwork/MPSNNGradientState.h>

NS_ASSUME_NONNULL_BEGIN

@class MPSNNNeuronDescriptor;

@interface MPSCNNConvolutionDescriptor : NSObject <NSSecureCoding, NSCopying> {
  NSUInteger _kernelWidth, _kernelHeight;
  NSUInteger _inputFeatureChannels, _outputFeatureChannels;
  NSUInteger _strideInPixelsX, _strideInPixelsY, _groups;
  NSUInteger _dilationRateX, _dilationRateY;
  MPSNNNeuronDescriptor* _fusedNeuronDescriptor;
}
@property(readwrite, nonatomic) NSUInteger kernelWidth, kernelHeight,
    inputFeatureChannels, outputFeatureChannels, strideInPixelsX,
    strideInPixelsY, groups, dilationRateX, dilationRateY;
@property(readwrite, nonatomic, retain)
    MPSNNNeuronDescriptor* fusedNeuronDescriptor;

+ (instancetype)
    cnnConvolutionDescriptorWithKernelWidth:(NSUInteger)kernelWidth
                               kernelHeight:(NSUInteger)kernelHeight
                       inputFeatureChannels:(NSUInteger)inputFeatureChannels
                      outputFeatureChannels:(NSUInteger)outputFeatureChannels;
@end

/// One kernel per channel.
@interface MPSCNNDepthWiseConvolutionDescriptor : MPSCNNConvolutionDescriptor
@property(readonly, nonatomic) NSUInteger channelMultiplier;
@end

typedef NS_ENUM(uint32_t, MPSCNNConvolutionWeightsLayout) {
  MPSCNNConvolutionWeightsLayoutOHWI = 0,
};

typedef NS_ENUM(uint32_t, MPSCNNWeightsQuantizationType) {
  MPSCNNWeightsQuantizationTypeNone = 0,
  MPSCNNWeightsQuantizationTypeLinear = 1,
  MPSCNNWeightsQuantizationTypeLookupTable = 2,
};

@class MPSCNNConvolution;
@class MPSCNNConvolutionTranspose;

@interface MPSCNNConvolutionGradientState
    : MPSNNGradientState <MPSImageSizeEncodingState>
@property(readonly, nonatomic) id<MTLBuffer> gradientForWeights;
@property(readonly, nonatomic) id<MTLBuffer> gradientForBiases;
@property(readonly, nonatomic, retain) MPSCNNConvolution* convolution;
@property(readonly, nonatomic)
    MPSCNNConvolutionWeightsLayout gradientForWeightsLayout;
@end
typedef NSArray<MPSCNNConvolutionGradientState*>
    MPSCNNConvolutionGradientStateBatch;

@interface MPSCNNConvolutionTransposeGradientState
    : MPSCNNConvolutionGradientState
@end

@interface MPSCNNConvolutionWeightsAndBiasesState : MPSState {
  NSUInteger _weightsOffset, _biasesOffset;
}
@property(readonly, nonatomic) id<MTLBuffer> weights;
@property(readonly, nonatomic, nullable) id<MTLBuffer> biases;
@property(readonly, nonatomic) NSUInteger weightsOffset, biasesOffset;

- (instancetype)initWithWeights:(id<MTLBuffer>)weights
                         biases:(nullable id<MTLBuffer>)biases;
- (instancetype)initWithDevice:(id<MTLDevice>)device
      cnnConvolutionDescriptor:(MPSCNNConvolutionDescriptor*)descriptor;
+ (instancetype)
    temporaryCNNConvolutionWeightsAndBiasesStateWithCommandBuffer:
        (id<MTLCommandBuffer>)commandBuffer
                                         cnnConvolutionDescriptor:
                                             (MPSCNNConvolutionDescriptor*)
                                                 descriptor;
- (instancetype)initWithWeights:(id<MTLBuffer>)weights
                  weightsOffset:(NSUInteger)weightsOffset
                         biases:(nullable id<MTLBuffer>)biases
                   biasesOffset:(NSUInteger)biasesOffset
       cnnConvolutionDescriptor:(MPSCNNConvolutionDescriptor*)descriptor;
@end

@protocol MPSCNNConvolutionDataSource <NSCopying, NSObject>
- (MPSDataType)dataType;
- (MPSCNNConvolutionDescriptor*)descriptor;
- (void*)weights;
- (nullable float*)biasTerms;
- (BOOL)load;
- (void)purge;
- (nullable NSString*)label;
@optional
- (float*)lookupTableForUInt8Kernel;
- (MPSCNNWeightsQuantizationType)weightsQuantizationType;
- (nullable MPSCNNConvolutionWeightsAndBiasesState*)
    updateWithCommandBuffer:(id<MTLCommandBuffer>)commandBuffer
              gradientState:(MPSCNNConvolutionGradientState*)gradientState
                sourceState:
                    (MPSCNNConvolutionWeightsAndBiasesState*)sourceState;
- (BOOL)updateWithGradientState:(MPSCNNConvolutionGradientState*)gradientState
                    sourceState:
                        (MPSCNNConvolutionWeightsAndBiasesState*)sourceState;
- (instancetype)copyWithZone:(nullable NSZone*)zone
                      device:(nullable id<MTLDevice>)device;
- (MPSCNNConvolutionWeightsLayout)weightsLayout;
- (MPSDataType)kernelWeightsDataType;
@end

@interface MPSCNNConvolution : MPSCNNKernel {
  NSUInteger _inputFeatureChannels, _outputFeatureChannels, _groups;
  id<MPSCNNConvolutionDataSource> _dataSource;
}
@property(readonly, nonatomic) NSUInteger inputFeatureChannels,
    outputFeatureChannels, groups;
@property(readonly, nonatomic, retain) id<MPSCNNConvolutionDataSource>
    dataSource;
@end

/// Placed at offset * stride + kernelOffset of the source with zeros put
/// between its pixels.
@interface MPSCNNConvolutionTranspose : MPSCNNKernel {
  NSInteger _kernelOffsetX, _kernelOffsetY;
}
@property(readwrite, nonatomic) NSInteger kernelOffsetX, kernelOffsetY;
@end

NS_ASSUME_NONNULL_END
