// SPDX-License-Identifier: MIT
// Nodes of neurons and of their gradient.
#pragma once

#import <MPSNeuralNetwork/MPSCNNNeuron.h>
#import <MPSNeuralNetwork/MPSNNGraphNodes.h>

NS_ASSUME_NONNULL_BEGIN

@interface MPSCNNNeuronNode : MPSNNFilterNode {
  MPSNNNeuronDescriptor* _descriptor;
}
/// Of the class that the descriptor's type has.
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode
                    descriptor:(MPSNNNeuronDescriptor*)descriptor;
@property(nonatomic, readonly) float a;
@property(nonatomic, readonly) float b;
@property(nonatomic, readonly) float c;
@end

@interface MPSCNNNeuronAbsoluteNode : MPSCNNNeuronNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode;
@end

@interface MPSCNNNeuronELUNode : MPSCNNNeuronNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode;
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode a:(float)a;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode a:(float)a;
@end

@interface MPSCNNNeuronReLUNNode : MPSCNNNeuronNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode;
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode
                             a:(float)a
                             b:(float)b;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode
                             a:(float)a
                             b:(float)b;
@end

@interface MPSCNNNeuronLinearNode : MPSCNNNeuronNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode;
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode
                             a:(float)a
                             b:(float)b;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode
                             a:(float)a
                             b:(float)b;
@end

@interface MPSCNNNeuronReLUNode : MPSCNNNeuronNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode;
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode a:(float)a;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode a:(float)a;
@end

@interface MPSCNNNeuronSigmoidNode : MPSCNNNeuronNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode;
@end

@interface MPSCNNNeuronHardSigmoidNode : MPSCNNNeuronNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode;
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode
                             a:(float)a
                             b:(float)b;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode
                             a:(float)a
                             b:(float)b;
@end

@interface MPSCNNNeuronSoftPlusNode : MPSCNNNeuronNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode;
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode
                             a:(float)a
                             b:(float)b;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode
                             a:(float)a
                             b:(float)b;
@end

@interface MPSCNNNeuronSoftSignNode : MPSCNNNeuronNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode;
@end

@interface MPSCNNNeuronTanHNode : MPSCNNNeuronNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode;
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode
                             a:(float)a
                             b:(float)b;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode
                             a:(float)a
                             b:(float)b;
@end

@interface MPSCNNNeuronPReLUNode : MPSCNNNeuronNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode aData:(NSData*)aData;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode aData:(NSData*)aData;
@end

@interface MPSCNNNeuronPowerNode : MPSCNNNeuronNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode;
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode
                             a:(float)a
                             b:(float)b
                             c:(float)c;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode
                             a:(float)a
                             b:(float)b
                             c:(float)c;
@end

@interface MPSCNNNeuronExponentialNode : MPSCNNNeuronNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode;
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode
                             a:(float)a
                             b:(float)b
                             c:(float)c;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode
                             a:(float)a
                             b:(float)b
                             c:(float)c;
@end

@interface MPSCNNNeuronLogarithmNode : MPSCNNNeuronNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode;
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode
                             a:(float)a
                             b:(float)b
                             c:(float)c;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode
                             a:(float)a
                             b:(float)b
                             c:(float)c;
@end

@interface MPSCNNNeuronGeLUNode : MPSCNNNeuronNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode;
- (instancetype)initWithSource:(MPSNNImageNode*)sourceNode;
@end

@interface MPSCNNNeuronGradientNode : MPSNNGradientFilterNode {
  MPSNNNeuronDescriptor* _descriptor;
}
@property(nonatomic, readonly) MPSNNNeuronDescriptor* descriptor;
+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState
                            descriptor:(MPSNNNeuronDescriptor*)descriptor;
- (instancetype)initWithSourceGradient:(MPSNNImageNode*)sourceGradient
                           sourceImage:(MPSNNImageNode*)sourceImage
                         gradientState:(MPSNNGradientStateNode*)gradientState
                            descriptor:(MPSNNNeuronDescriptor*)descriptor;
@end

NS_ASSUME_NONNULL_END
