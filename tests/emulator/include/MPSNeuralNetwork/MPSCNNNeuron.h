// SPDX-License-Identifier: MIT
// Which function a neuron applies.
#pragma once

#import <MPSNeuralNetwork/MPSNeuralNetworkTypes.h>

NS_ASSUME_NONNULL_BEGIN

typedef NS_ENUM(int32_t, MPSCNNNeuronType) {
  MPSCNNNeuronTypeNone = 0,
  MPSCNNNeuronTypeReLU = 1,
  MPSCNNNeuronTypeLinear = 2,
  MPSCNNNeuronTypeSigmoid = 3,
  MPSCNNNeuronTypeHardSigmoid = 4,
  MPSCNNNeuronTypeTanH = 5,
  MPSCNNNeuronTypeAbsolute = 6,
  MPSCNNNeuronTypeSoftPlus = 7,
  MPSCNNNeuronTypeSoftSign = 8,
  MPSCNNNeuronTypeELU = 9,
  MPSCNNNeuronTypePReLU = 10,
  MPSCNNNeuronTypeReLUN = 11,
  MPSCNNNeuronTypePower = 12,
  MPSCNNNeuronTypeExponential = 13,
  MPSCNNNeuronTypeLogarithm = 14,
  MPSCNNNeuronTypeGeLU = 15,
  MPSCNNNeuronTypeCount = 16,
};

@interface MPSNNNeuronDescriptor : NSObject <NSCopying, NSSecureCoding> {
  MPSCNNNeuronType _neuronType;
  float _a, _b, _c;
  NSData* _data;
}
@property(readwrite, nonatomic) MPSCNNNeuronType neuronType;
@property(readwrite, nonatomic) float a, b, c;
@property(readwrite, nonatomic, nullable, retain) NSData* data;

+ (MPSNNNeuronDescriptor*)cnnNeuronDescriptorWithType:
    (MPSCNNNeuronType)neuronType;
+ (MPSNNNeuronDescriptor*)cnnNeuronDescriptorWithType:
                              (MPSCNNNeuronType)neuronType
                                                    a:(float)a;
+ (MPSNNNeuronDescriptor*)cnnNeuronDescriptorWithType:
                              (MPSCNNNeuronType)neuronType
                                                    a:(float)a
                                                    b:(float)b;
+ (MPSNNNeuronDescriptor*)cnnNeuronDescriptorWithType:
                              (MPSCNNNeuronType)neuronType
                                                    a:(float)a
                                                    b:(float)b
                                                    c:(float)c;
+ (MPSNNNeuronDescriptor*)cnnNeuronPReLUDescriptorWithData:(NSData*)data
                                                    noCopy:(bool)noCopy;
@end

NS_ASSUME_NONNULL_END
