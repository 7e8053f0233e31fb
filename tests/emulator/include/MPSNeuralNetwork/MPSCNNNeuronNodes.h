// SPDX-License-Identifier: MIT
// Nodes of neurons and of their gradient.
#pragma once

#import <MPSNeuralNetwork/MPSCNNNeuron.h>
#import <MPSNeuralNetwork/MPSNNGraphNodes.h>

NS_ASSUME_NONNULL_BEGIN

@interface MPSCNNNeuronNode : MPSNNFilterNode {
  MPSNNNeuronDescriptor* _descriptor;
}
/// Makes a node of the class that the descriptor's type has.
+ (instancetype)nodeWithSource:(MPSNNImageNode*)sourceNode
                    descriptor:(MPSNNNeuronDescriptor*)descriptor;
@property(nonatomic, readonly) float a, b, c;
@end

/// PLAIN(type) and WITH(type, parameters with their defaults). Those of the
/// last three are not documented.
#define EMULATED_NEURONS(PLAIN, WITH)                             \
  PLAIN(Absolute)                                                 \
  PLAIN(Sigmoid)                                                  \
  PLAIN(SoftSign)                                                 \
  PLAIN(GeLU)                                                     \
  WITH(ReLU, (float, a, 0))                                       \
  WITH(ELU, (float, a, 1))                                        \
  WITH(ReLUN, (float, a, 1), (float, b, 6))                       \
  WITH(Linear, (float, a, 1), (float, b, 0))                      \
  WITH(HardSigmoid, (float, a, 0.2f), (float, b, 0.5f))           \
  WITH(SoftPlus, (float, a, 1), (float, b, 1))                    \
  WITH(TanH, (float, a, 1), (float, b, 1))                        \
  WITH(Power, (float, a, 1), (float, b, 0), (float, c, 1))        \
  WITH(Exponential, (float, a, 1), (float, b, 0), (float, c, -1)) \
  WITH(Logarithm, (float, a, 1), (float, b, 0), (float, c, -1))

// clang-format off
#define EMULATED_PLAIN_NEURON(TYPE) \
  @interface MPSCNNNeuron##TYPE##Node : MPSCNNNeuronNode \
  EMULATED_NODE(); \
  @end
#define EMULATED_NEURON_WITH(TYPE, ...) \
  @interface MPSCNNNeuron##TYPE##Node : MPSCNNNeuronNode \
  EMULATED_NODE(); \
  EMULATED_NODE(__VA_ARGS__); \
  @end
// clang-format on
EMULATED_NEURONS(EMULATED_PLAIN_NEURON, EMULATED_NEURON_WITH)

@interface MPSCNNNeuronPReLUNode : MPSCNNNeuronNode
EMULATED_NODE((NSData*, aData));
@end

@interface MPSCNNNeuronGradientNode : MPSNNGradientFilterNode {
  MPSNNNeuronDescriptor* _descriptor;
}
@property(nonatomic, readonly) MPSNNNeuronDescriptor* descriptor;
EMULATED_GRADIENT_NODE((MPSNNNeuronDescriptor*, descriptor));
@end

NS_ASSUME_NONNULL_END
