// SPDX-License-Identifier: MIT
// The descriptor of the LSTM.
#import <MetalPerformanceShadersGraph/MetalPerformanceShadersGraph.h>

@implementation MPSGraphLSTMDescriptor

@synthesize reverse = _reverse;
@synthesize bidirectional = _bidirectional;
@synthesize produceCell = _produceCell;
@synthesize training = _training;
@synthesize forgetGateLast = _forgetGateLast;
@synthesize inputGateActivation = _inputGateActivation;
@synthesize forgetGateActivation = _forgetGateActivation;
@synthesize cellGateActivation = _cellGateActivation;
@synthesize outputGateActivation = _outputGateActivation;
@synthesize activation = _activation;

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

- (id)copyWithZone:(NSZone*)zone {
  MPSGraphLSTMDescriptor* copy =
      [[MPSGraphLSTMDescriptor allocWithZone:zone] init];
  [copy setReverse:_reverse];
  [copy setBidirectional:_bidirectional];
  [copy setProduceCell:_produceCell];
  [copy setTraining:_training];
  [copy setForgetGateLast:_forgetGateLast];
  [copy setInputGateActivation:_inputGateActivation];
  [copy setForgetGateActivation:_forgetGateActivation];
  [copy setCellGateActivation:_cellGateActivation];
  [copy setOutputGateActivation:_outputGateActivation];
  [copy setActivation:_activation];
  return copy;
}

@end
