// SPDX-License-Identifier: MIT
// MPSCNNNeuronNode, its subclasses and MPSCNNNeuronGradientNode.
#import <MPSNeuralNetwork/MPSCNNNeuronNodes.h>

#include "mpsnn/arithmetic/neuron.h"
#import "mpsnn/nodes.h"
#include "mpsnn/picture_kernels.h"
#import "objects.h"

using emulator::mpsnn::Neuron;

namespace emulator::mpsnn {
namespace {

Neuron neuron_of(MPSNNNeuronDescriptor* d) {
  Neuron neuron{
      static_cast<NeuronType>([d neuronType]), [d a], [d b], [d c], {}};
  const auto* slopes = static_cast<const float*>([[d data] bytes]);
  if (slopes) {
    neuron.slopes.assign(slopes, slopes + [[d data] length] / sizeof(float));
  }
  return neuron;
}

/// A slope for every channel.
ExtentRule same_extent(const char* name, const Neuron& neuron) {
  return [name, is_prelu = neuron.type == NeuronType::kPReLU,
          count = neuron.slopes.size()](const Extent& source) {
    if (is_prelu && static_cast<std::int64_t>(count) < source.channels) {
      refuse_filter(name, std::to_string(count) + " slopes for " +
                              std::to_string(source.channels) + " channels");
    }
    return source;
  };
}

MPSNNNeuronDescriptor* described(MPSCNNNeuronType type, float a, float b,
                                 float c) {
  return [MPSNNNeuronDescriptor cnnNeuronDescriptorWithType:type a:a b:b c:c];
}

}  // namespace
}  // namespace emulator::mpsnn

using emulator::mpsnn::described;

@interface MPSCNNNeuronNode ()
- (instancetype)initWithSource:(MPSNNImageNode*)source
                      emulated:(MPSNNNeuronDescriptor*)descriptor;
@end

@implementation MPSCNNNeuronNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)source
                    descriptor:(MPSNNNeuronDescriptor*)descriptor {
  // In the order of MPSCNNNeuronType.
  NSArray* names =
      [@"None ReLU Linear Sigmoid HardSigmoid TanH Absolute SoftPlus SoftSign "
       @"ELU PReLU ReLUN Power Exponential Logarithm GeLU"
          componentsSeparatedByString:@" "];
  if (!descriptor)
    emulator::refuse("MPSCNNNeuronNode", @"the descriptor is nil");
  NSString* type = [names objectAtIndex:[descriptor neuronType]];
  Class made = NSClassFromString(
      [NSString stringWithFormat:@"MPSCNNNeuron%@Node", type]);
  if (!made) made = [MPSCNNNeuronNode class];
  return [[[made alloc] initWithSource:source emulated:descriptor] autorelease];
}

- (instancetype)initWithSource:(MPSNNImageNode*)source
                      emulated:(MPSNNNeuronDescriptor*)descriptor {
  self = [super initWithSources:source ? [NSArray arrayWithObject:source] : nil
                         states:nil];
  _descriptor = [descriptor copy];
  return self;
}

- (void)dealloc {
  [_descriptor release];
  [super dealloc];
}

- (float)a {
  return [_descriptor a];
}
- (float)b {
  return [_descriptor b];
}
- (float)c {
  return [_descriptor c];
}

- (std::shared_ptr<emulator::mpsnn::FilterKernel>)makeKernel:
    (emulator::mpsnn::GraphBuild&)build {
  (void)build;
  const Neuron neuron = emulator::mpsnn::neuron_of(_descriptor);
  return emulator::mpsnn::filter_of(
      [neuron](const auto& source) { return apply_neuron(neuron, source); },
      emulator::mpsnn::same_extent(object_getClassName(self), neuron));
}

- (NSArray<MPSNNGradientFilterNode*>*)makeGradientNodes:
    (MPSNNImageNode*)gradient {
  return [NSArray
      arrayWithObject:[MPSCNNNeuronGradientNode
                          nodeWithSourceGradient:gradient
                                     sourceImage:[self sourceImage]
                                   gradientState:(MPSNNGradientStateNode*)
                                                     [self resultState]
                                      descriptor:_descriptor]];
}
@end

@implementation MPSCNNNeuronAbsoluteNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)source {
  return [[[self alloc] initWithSource:source] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)source {
  return [self initWithSource:source
                     emulated:described(MPSCNNNeuronTypeAbsolute, 0, 0, 0)];
}
@end

@implementation MPSCNNNeuronELUNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)source {
  return [[[self alloc] initWithSource:source] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)source {
  return [self initWithSource:source a:1];
}
+ (instancetype)nodeWithSource:(MPSNNImageNode*)source a:(float)a {
  return [[[self alloc] initWithSource:source a:a] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)source a:(float)a {
  return [self initWithSource:source
                     emulated:described(MPSCNNNeuronTypeELU, a, 0, 0)];
}
@end

@implementation MPSCNNNeuronReLUNNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)source {
  return [[[self alloc] initWithSource:source] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)source {
  return [self initWithSource:source a:1 b:6];
}
+ (instancetype)nodeWithSource:(MPSNNImageNode*)source a:(float)a b:(float)b {
  return [[[self alloc] initWithSource:source a:a b:b] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)source a:(float)a b:(float)b {
  return [self initWithSource:source
                     emulated:described(MPSCNNNeuronTypeReLUN, a, b, 0)];
}
@end

@implementation MPSCNNNeuronLinearNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)source {
  return [[[self alloc] initWithSource:source] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)source {
  return [self initWithSource:source a:1 b:0];
}
+ (instancetype)nodeWithSource:(MPSNNImageNode*)source a:(float)a b:(float)b {
  return [[[self alloc] initWithSource:source a:a b:b] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)source a:(float)a b:(float)b {
  return [self initWithSource:source
                     emulated:described(MPSCNNNeuronTypeLinear, a, b, 0)];
}
@end

@implementation MPSCNNNeuronReLUNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)source {
  return [[[self alloc] initWithSource:source] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)source {
  return [self initWithSource:source a:0];
}
+ (instancetype)nodeWithSource:(MPSNNImageNode*)source a:(float)a {
  return [[[self alloc] initWithSource:source a:a] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)source a:(float)a {
  return [self initWithSource:source
                     emulated:described(MPSCNNNeuronTypeReLU, a, 0, 0)];
}
@end

@implementation MPSCNNNeuronSigmoidNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)source {
  return [[[self alloc] initWithSource:source] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)source {
  return [self initWithSource:source
                     emulated:described(MPSCNNNeuronTypeSigmoid, 0, 0, 0)];
}
@end

@implementation MPSCNNNeuronHardSigmoidNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)source {
  return [[[self alloc] initWithSource:source] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)source {
  return [self initWithSource:source a:0.2f b:0.5f];
}
+ (instancetype)nodeWithSource:(MPSNNImageNode*)source a:(float)a b:(float)b {
  return [[[self alloc] initWithSource:source a:a b:b] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)source a:(float)a b:(float)b {
  return [self initWithSource:source
                     emulated:described(MPSCNNNeuronTypeHardSigmoid, a, b, 0)];
}
@end

@implementation MPSCNNNeuronSoftPlusNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)source {
  return [[[self alloc] initWithSource:source] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)source {
  return [self initWithSource:source a:1 b:1];
}
+ (instancetype)nodeWithSource:(MPSNNImageNode*)source a:(float)a b:(float)b {
  return [[[self alloc] initWithSource:source a:a b:b] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)source a:(float)a b:(float)b {
  return [self initWithSource:source
                     emulated:described(MPSCNNNeuronTypeSoftPlus, a, b, 0)];
}
@end

@implementation MPSCNNNeuronSoftSignNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)source {
  return [[[self alloc] initWithSource:source] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)source {
  return [self initWithSource:source
                     emulated:described(MPSCNNNeuronTypeSoftSign, 0, 0, 0)];
}
@end

@implementation MPSCNNNeuronTanHNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)source {
  return [[[self alloc] initWithSource:source] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)source {
  return [self initWithSource:source a:1 b:1];
}
+ (instancetype)nodeWithSource:(MPSNNImageNode*)source a:(float)a b:(float)b {
  return [[[self alloc] initWithSource:source a:a b:b] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)source a:(float)a b:(float)b {
  return [self initWithSource:source
                     emulated:described(MPSCNNNeuronTypeTanH, a, b, 0)];
}
@end

@implementation MPSCNNNeuronPReLUNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)source aData:(NSData*)data {
  return [[[self alloc] initWithSource:source aData:data] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)source aData:(NSData*)data {
  return [self initWithSource:source
                     emulated:[MPSNNNeuronDescriptor
                                  cnnNeuronPReLUDescriptorWithData:data
                                                            noCopy:false]];
}
@end

// The defaults of the last three with a, b and c are not documented.
@implementation MPSCNNNeuronPowerNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)source {
  return [[[self alloc] initWithSource:source] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)source {
  return [self initWithSource:source a:1 b:0 c:1];
}
+ (instancetype)nodeWithSource:(MPSNNImageNode*)source
                             a:(float)a
                             b:(float)b
                             c:(float)c {
  return [[[self alloc] initWithSource:source a:a b:b c:c] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)source
                             a:(float)a
                             b:(float)b
                             c:(float)c {
  return [self initWithSource:source
                     emulated:described(MPSCNNNeuronTypePower, a, b, c)];
}
@end

@implementation MPSCNNNeuronExponentialNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)source {
  return [[[self alloc] initWithSource:source] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)source {
  return [self initWithSource:source a:1 b:0 c:-1];
}
+ (instancetype)nodeWithSource:(MPSNNImageNode*)source
                             a:(float)a
                             b:(float)b
                             c:(float)c {
  return [[[self alloc] initWithSource:source a:a b:b c:c] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)source
                             a:(float)a
                             b:(float)b
                             c:(float)c {
  return [self initWithSource:source
                     emulated:described(MPSCNNNeuronTypeExponential, a, b, c)];
}
@end

@implementation MPSCNNNeuronLogarithmNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)source {
  return [[[self alloc] initWithSource:source] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)source {
  return [self initWithSource:source a:1 b:0 c:-1];
}
+ (instancetype)nodeWithSource:(MPSNNImageNode*)source
                             a:(float)a
                             b:(float)b
                             c:(float)c {
  return [[[self alloc] initWithSource:source a:a b:b c:c] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)source
                             a:(float)a
                             b:(float)b
                             c:(float)c {
  return [self initWithSource:source
                     emulated:described(MPSCNNNeuronTypeLogarithm, a, b, c)];
}
@end

@implementation MPSCNNNeuronGeLUNode
+ (instancetype)nodeWithSource:(MPSNNImageNode*)source {
  return [[[self alloc] initWithSource:source] autorelease];
}
- (instancetype)initWithSource:(MPSNNImageNode*)source {
  return [self initWithSource:source
                     emulated:described(MPSCNNNeuronTypeGeLU, 0, 0, 0)];
}
@end

@implementation MPSCNNNeuronGradientNode
@synthesize descriptor = _descriptor;

+ (instancetype)nodeWithSourceGradient:(MPSNNImageNode*)gradient
                           sourceImage:(MPSNNImageNode*)source
                         gradientState:(MPSNNGradientStateNode*)state
                            descriptor:(MPSNNNeuronDescriptor*)descriptor {
  return [[[self alloc] initWithSourceGradient:gradient
                                   sourceImage:source
                                 gradientState:state
                                    descriptor:descriptor] autorelease];
}

- (instancetype)initWithSourceGradient:(MPSNNImageNode*)gradient
                           sourceImage:(MPSNNImageNode*)source
                         gradientState:(MPSNNGradientStateNode*)state
                            descriptor:(MPSNNNeuronDescriptor*)descriptor {
  if (!descriptor)
    emulator::refuse("MPSCNNNeuronGradientNode", @"the descriptor is nil");
  self = [super initWithSourceGradient:gradient sourceImage:source state:state];
  _descriptor = [descriptor copy];
  return self;
}

- (void)dealloc {
  [_descriptor release];
  [super dealloc];
}

- (std::shared_ptr<emulator::mpsnn::FilterKernel>)makeKernel:
    (emulator::mpsnn::GraphBuild&)build {
  (void)build;
  const Neuron neuron = emulator::mpsnn::neuron_of(_descriptor);
  const char* name = object_getClassName(self);
  return emulator::mpsnn::gradient_of(
      name,
      [neuron](const auto& g, const auto& source) {
        return neuron_gradient(neuron, g, source);
      },
      emulator::mpsnn::same_extent(name, neuron));
}
@end
