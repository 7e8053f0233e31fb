// SPDX-License-Identifier: MIT
// The RNN ops and their gradients.
#pragma once

#import <MetalPerformanceShadersGraph/MPSGraph.h>

typedef NS_ENUM(NSUInteger, MPSGraphRNNActivation) {
  MPSGraphRNNActivationNone = 0,
  MPSGraphRNNActivationRelu = 1,
  MPSGraphRNNActivationTanh = 2,
  MPSGraphRNNActivationSigmoid = 3,
  MPSGraphRNNActivationHardSigmoid = 4,
};

#define EMULATED_LSTM_FIELDS                                   \
  (BOOL, reverse), (BOOL, bidirectional), (BOOL, produceCell), \
      (BOOL, training), (BOOL, forgetGateLast),                \
      (MPSGraphRNNActivation, inputGateActivation),            \
      (MPSGraphRNNActivation, forgetGateActivation),           \
      (MPSGraphRNNActivation, cellGateActivation),             \
      (MPSGraphRNNActivation, outputGateActivation),           \
      (MPSGraphRNNActivation, activation)

@interface MPSGraphLSTMDescriptor : MPSGraphObject <NSCopying> {
  EMULATED_EACH(EMULATED_VARIABLE, EMULATED_LSTM_FIELDS)
}
EMULATED_EACH(EMULATED_PROPERTY, EMULATED_LSTM_FIELDS)
+ (instancetype)descriptor;
@end

#define EMULATED_GRU_FIELDS                                      \
  (BOOL, reverse), (BOOL, bidirectional), (BOOL, training),      \
      (BOOL, resetGateFirst), (BOOL, resetAfter), (BOOL, flipZ), \
      (MPSGraphRNNActivation, updateGateActivation),             \
      (MPSGraphRNNActivation, resetGateActivation),              \
      (MPSGraphRNNActivation, outputGateActivation)

@interface MPSGraphGRUDescriptor : MPSGraphObject <NSCopying> {
  EMULATED_EACH(EMULATED_VARIABLE, EMULATED_GRU_FIELDS)
}
EMULATED_EACH(EMULATED_PROPERTY, EMULATED_GRU_FIELDS)
+ (instancetype)descriptor;
@end

#define EMULATED_SINGLE_GATE_FIELDS                         \
  (BOOL, reverse), (BOOL, bidirectional), (BOOL, training), \
      (MPSGraphRNNActivation, activation)

@interface MPSGraphSingleGateRNNDescriptor : MPSGraphObject <NSCopying> {
  EMULATED_EACH(EMULATED_VARIABLE, EMULATED_SINGLE_GATE_FIELDS)
}
EMULATED_EACH(EMULATED_PROPERTY, EMULATED_SINGLE_GATE_FIELDS)
+ (instancetype)descriptor;
@end

// clang-format off
/// The head of an RNN op, of its tensors after the source.
#define EMULATED_RNN(OP, DESCRIPTOR, ...) \
  (NSArray<MPSGraphTensor*>*)OP##WithSourceTensor:(MPSGraphTensor*)source \
      EMULATED_EACH(EMULATED_TENSOR, __VA_ARGS__) \
      descriptor:(DESCRIPTOR*)descriptor \
      name:(NSString*)name
#define EMULATED_TENSOR(NAME) NAME:(MPSGraphTensor*)NAME

#define EMULATED_LSTM \
  EMULATED_RNN( \
      LSTM, MPSGraphLSTMDescriptor, \
      (recurrentWeight), (inputWeight), (bias), (initState), (initCell), \
      (mask), (peephole))
#define EMULATED_LSTM_GRADIENTS \
  EMULATED_RNN( \
      LSTMGradients, MPSGraphLSTMDescriptor, \
      (recurrentWeight), (sourceGradient), (zState), (cellOutputFwd), \
      (stateGradient), (cellGradient), (inputWeight), (bias), (initState), \
      (initCell), (mask), (peephole))
#define EMULATED_GRU \
  EMULATED_RNN( \
      GRU, MPSGraphGRUDescriptor, \
      (recurrentWeight), (inputWeight), (bias), (initState), (mask), \
      (secondaryBias))
#define EMULATED_GRU_GRADIENTS \
  EMULATED_RNN( \
      GRUGradients, MPSGraphGRUDescriptor, \
      (recurrentWeight), (sourceGradient), (zState), (outputFwd), \
      (stateGradient), (inputWeight), (bias), (initState), (mask), \
      (secondaryBias))
#define EMULATED_SINGLE_GATE \
  EMULATED_RNN( \
      singleGateRNN, MPSGraphSingleGateRNNDescriptor, \
      (recurrentWeight), (inputWeight), (bias), (initState), (mask))
#define EMULATED_SINGLE_GATE_GRADIENTS \
  EMULATED_RNN( \
      singleGateRNNGradients, MPSGraphSingleGateRNNDescriptor, \
      (recurrentWeight), (sourceGradient), (zState), (stateGradient), \
      (inputWeight), (bias), (initState), (mask))
// clang-format on

@interface MPSGraph (MPSGraphRNNOps)
- EMULATED_LSTM;
- EMULATED_LSTM_GRADIENTS;
@end

// One category at Apple's.
@interface MPSGraph (MPSGraphGRUOps)
- EMULATED_GRU;
- EMULATED_GRU_GRADIENTS;
- EMULATED_SINGLE_GATE;
- EMULATED_SINGLE_GATE_GRADIENTS;
@end
