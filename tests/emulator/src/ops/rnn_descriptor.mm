// SPDX-License-Identifier: MIT
// The descriptors of the RNN ops.
#import <MetalPerformanceShadersGraph/MetalPerformanceShadersGraph.h>

#include "descriptor_class.h"

@implementation MPSGraphLSTMDescriptor
FIELDS(MPSGraphLSTMDescriptor, EMULATED_LSTM_FIELDS)

+ (instancetype)descriptor {
  return [[[self alloc] init] autorelease];
}
- (instancetype)init {
  self = [super init];
  _inputGateActivation = MPSGraphRNNActivationSigmoid;
  _forgetGateActivation = MPSGraphRNNActivationSigmoid;
  _cellGateActivation = MPSGraphRNNActivationTanh;
  _outputGateActivation = MPSGraphRNNActivationSigmoid;
  _activation = MPSGraphRNNActivationTanh;
  return self;
}
@end

@implementation MPSGraphGRUDescriptor
FIELDS(MPSGraphGRUDescriptor, EMULATED_GRU_FIELDS)

+ (instancetype)descriptor {
  return [[[self alloc] init] autorelease];
}
- (instancetype)init {
  self = [super init];
  _updateGateActivation = MPSGraphRNNActivationSigmoid;
  _resetGateActivation = MPSGraphRNNActivationSigmoid;
  _outputGateActivation = MPSGraphRNNActivationTanh;
  return self;
}
@end

@implementation MPSGraphSingleGateRNNDescriptor
FIELDS(MPSGraphSingleGateRNNDescriptor, EMULATED_SINGLE_GATE_FIELDS)

+ (instancetype)descriptor {
  return [[[self alloc] init] autorelease];
}
- (instancetype)init {
  self = [super init];
  _activation = MPSGraphRNNActivationRelu;
  return self;
}
@end
