// SPDX-License-Identifier: MIT
// MPSNNNeuronDescriptor.
#import <MPSNeuralNetwork/MPSCNNNeuron.h>

#import "objects.h"

@implementation MPSNNNeuronDescriptor
@synthesize neuronType = _neuronType, a = _a, b = _b, c = _c, data = _data;

- (instancetype)init {
  emulator::refuse("MPSNNNeuronDescriptor", @"init is unavailable");
}

- (instancetype)initWithType:(MPSCNNNeuronType)type {
  if (type < 0 || type >= MPSCNNNeuronTypeCount) {
    emulator::refuse("MPSNNNeuronDescriptor", @"no neuron has type %d", type);
  }
  self = [super init];
  emulator::count_birth(self);
  _neuronType = type;
  return self;
}

- (void)dealloc {
  emulator::count_death(self);
  [_data release];
  [super dealloc];
}

+ (MPSNNNeuronDescriptor*)cnnNeuronDescriptorWithType:(MPSCNNNeuronType)type {
  return [self cnnNeuronDescriptorWithType:type a:0 b:0 c:0];
}

+ (MPSNNNeuronDescriptor*)cnnNeuronDescriptorWithType:(MPSCNNNeuronType)type
                                                    a:(float)a {
  return [self cnnNeuronDescriptorWithType:type a:a b:0 c:0];
}

+ (MPSNNNeuronDescriptor*)cnnNeuronDescriptorWithType:(MPSCNNNeuronType)type
                                                    a:(float)a
                                                    b:(float)b {
  return [self cnnNeuronDescriptorWithType:type a:a b:b c:0];
}

+ (MPSNNNeuronDescriptor*)cnnNeuronDescriptorWithType:(MPSCNNNeuronType)type
                                                    a:(float)a
                                                    b:(float)b
                                                    c:(float)c {
  MPSNNNeuronDescriptor* made = [[[self alloc] initWithType:type] autorelease];
  [made setA:a];
  [made setB:b];
  [made setC:c];
  return made;
}

+ (MPSNNNeuronDescriptor*)cnnNeuronPReLUDescriptorWithData:(NSData*)data
                                                    noCopy:(bool)noCopy {
  (void)noCopy;  // an optimization
  if (!data || [data length] % sizeof(float) != 0) {
    emulator::refuse("MPSNNNeuronDescriptor", @"the slopes are no floats");
  }
  MPSNNNeuronDescriptor* made =
      [self cnnNeuronDescriptorWithType:MPSCNNNeuronTypePReLU];
  [made setData:data];
  return made;
}

- (id)copyWithZone:(NSZone*)zone {
  MPSNNNeuronDescriptor* copy =
      [[[self class] allocWithZone:zone] initWithType:_neuronType];
  [copy setA:_a];
  [copy setB:_b];
  [copy setC:_c];
  [copy setData:_data];
  return copy;
}

+ (BOOL)supportsSecureCoding {
  return YES;
}

- (void)encodeWithCoder:(NSCoder*)coder {
  [coder encodeInt:_neuronType forKey:@"neuronType"];
  [coder encodeFloat:_a forKey:@"a"];
  [coder encodeFloat:_b forKey:@"b"];
  [coder encodeFloat:_c forKey:@"c"];
  [coder encodeObject:_data forKey:@"data"];
}

- (instancetype)initWithCoder:(NSCoder*)coder {
  self = [self initWithType:static_cast<MPSCNNNeuronType>(
                                [coder decodeIntForKey:@"neuronType"])];
  _a = [coder decodeFloatForKey:@"a"];
  _b = [coder decodeFloatForKey:@"b"];
  _c = [coder decodeFloatForKey:@"c"];
  _data = [[coder decodeObjectForKey:@"data"] retain];
  return self;
}
@end
