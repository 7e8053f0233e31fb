// SPDX-License-Identifier: MIT
// The descriptors of the RNN ops.
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

@implementation MPSGraphGRUDescriptor

@synthesize reverse = _reverse;
@synthesize bidirectional = _bidirectional;
@synthesize training = _training;
@synthesize resetGateFirst = _resetGateFirst;
@synthesize resetAfter = _resetAfter;
@synthesize flipZ = _flipZ;
@synthesize updateGateActivation = _updateGateActivation;
@synthesize resetGateActivation = _resetGateActivation;
@synthesize outputGateActivation = _outputGateActivation;

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

- (id)copyWithZone:(NSZone*)zone {
  MPSGraphGRUDescriptor* copy =
      [[MPSGraphGRUDescriptor allocWithZone:zone] init];
  [copy setReverse:_reverse];
  [copy setBidirectional:_bidirectional];
  [copy setTraining:_training];
  [copy setResetGateFirst:_resetGateFirst];
  [copy setResetAfter:_resetAfter];
  [copy setFlipZ:_flipZ];
  [copy setUpdateGateActivation:_updateGateActivation];
  [copy setResetGateActivation:_resetGateActivation];
  [copy setOutputGateActivation:_outputGateActivation];
  return copy;
}

@end

@implementation MPSGraphSingleGateRNNDescriptor

@synthesize reverse = _reverse;
@synthesize bidirectional = _bidirectional;
@synthesize training = _training;
@synthesize activation = _activation;

+ (instancetype)descriptor {
  return [[[self alloc] init] autorelease];
}

- (instancetype)init {
  self = [super init];
  _activation = MPSGraphRNNActivationRelu;
  return self;
}

- (id)copyWithZone:(NSZone*)zone {
  MPSGraphSingleGateRNNDescriptor* copy =
      [[MPSGraphSingleGateRNNDescriptor allocWithZone:zone] init];
  [copy setReverse:_reverse];
  [copy setBidirectional:_bidirectional];
  [copy setTraining:_training];
  [copy setActivation:_activation];
  return copy;
}

@end
