// SPDX-License-Identifier: MIT
// MPSCNNConvolutionDescriptor.
#import "objects.h"

@implementation MPSCNNConvolutionDescriptor
@synthesize kernelWidth = _kernelWidth, kernelHeight = _kernelHeight,
            inputFeatureChannels = _inputFeatureChannels,
            outputFeatureChannels = _outputFeatureChannels,
            strideInPixelsX = _strideInPixelsX,
            strideInPixelsY = _strideInPixelsY, groups = _groups,
            dilationRateX = _dilationRateX, dilationRateY = _dilationRateY,
            fusedNeuronDescriptor = _fusedNeuronDescriptor;

+ (instancetype)cnnConvolutionDescriptorWithKernelWidth:(NSUInteger)width
                                           kernelHeight:(NSUInteger)height
                                   inputFeatureChannels:(NSUInteger)inputs
                                  outputFeatureChannels:(NSUInteger)outputs {
  MPSCNNConvolutionDescriptor* descriptor = [[self new] autorelease];
  descriptor->_kernelWidth = width;
  descriptor->_kernelHeight = height;
  descriptor->_inputFeatureChannels = inputs;
  descriptor->_outputFeatureChannels = outputs;
  return descriptor;
}

- (instancetype)init {
  self = [super init];
  emulator::count_birth(self);
  _kernelWidth = _kernelHeight = 1;
  _inputFeatureChannels = _outputFeatureChannels = 1;
  _strideInPixelsX = _strideInPixelsY = 1;
  _groups = 1;
  _dilationRateX = _dilationRateY = 1;
  return self;
}

- (void)dealloc {
  emulator::count_death(self);
  [(id)_fusedNeuronDescriptor release];
  [super dealloc];
}

/// Everything that is a number.
- (NSArray*)names {
  return [NSArray arrayWithObjects:@"kernelWidth", @"kernelHeight",
                                   @"inputFeatureChannels",
                                   @"outputFeatureChannels", @"strideInPixelsX",
                                   @"strideInPixelsY", @"groups",
                                   @"dilationRateX", @"dilationRateY", nil];
}

- (id)copyWithZone:(NSZone*)zone {
  MPSCNNConvolutionDescriptor* copy = [[[self class] allocWithZone:zone] init];
  for (NSString* name in [self names]) {
    [copy setValue:[self valueForKey:name] forKey:name];
  }
  copy->_fusedNeuronDescriptor = [(id)_fusedNeuronDescriptor retain];
  return copy;
}

+ (BOOL)supportsSecureCoding {
  return YES;
}

- (void)encodeWithCoder:(NSCoder*)coder {
  for (NSString* name in [self names]) {
    [coder encodeObject:[self valueForKey:name] forKey:name];
  }
}

- (instancetype)initWithCoder:(NSCoder*)coder {
  self = [self init];
  for (NSString* name in [self names]) {
    [self setValue:[coder decodeObjectForKey:name] forKey:name];
  }
  return self;
}
@end

@implementation MPSCNNDepthWiseConvolutionDescriptor
- (NSUInteger)channelMultiplier {
  return [self outputFeatureChannels] / [self inputFeatureChannels];
}
@end
