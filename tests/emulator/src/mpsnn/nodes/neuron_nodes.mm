// SPDX-License-Identifier: MIT
// MPSCNNNeuronNode, its subclasses and MPSCNNNeuronGradientNode.
#import <MPSNeuralNetwork/MPSCNNNeuronNodes.h>

#include <algorithm>

#include "mpsnn/arithmetic/neuron.h"
#import "mpsnn/nodes/node_class.h"
#include "mpsnn/picture_kernels.h"

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

MPSNNNeuronDescriptor* described(MPSCNNNeuronType type,
                                 std::initializer_list<float> parameters) {
  float abc[3] = {};
  std::copy(parameters.begin(), parameters.end(), abc);
  return [MPSNNNeuronDescriptor cnnNeuronDescriptorWithType:type
                                                          a:abc[0]
                                                          b:abc[1]
                                                          c:abc[2]];
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
  // The order is that of MPSCNNNeuronType.
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

GRADIENT(MPSCNNNeuronGradientNode, descriptor : _descriptor)
@end

// clang-format off
#define PLAIN_NEURON(TYPE) \
  @implementation MPSCNNNeuron##TYPE##Node \
  NODE() { \
    return [self initWithSource:source \
                       emulated:described(MPSCNNNeuronType##TYPE, {})]; \
  } \
  @end
#define NEURON_WITH(TYPE, ...) \
  @implementation MPSCNNNeuron##TYPE##Node \
  NODE() { \
    return [self initWithSource:source \
                 EMULATED_EACH(EMULATED_DEFAULT, __VA_ARGS__)]; \
  } \
  NODE(__VA_ARGS__) { \
    return [self initWithSource:source \
                       emulated:described( \
                           MPSCNNNeuronType##TYPE, \
                           {EMULATED_EACH(EMULATED_VALUE, __VA_ARGS__)})]; \
  } \
  @end
// clang-format on
EMULATED_NEURONS(PLAIN_NEURON, NEURON_WITH)

@implementation MPSCNNNeuronPReLUNode
NODE((NSData*, aData)) {
  return [self initWithSource:source
                     emulated:[MPSNNNeuronDescriptor
                                  cnnNeuronPReLUDescriptorWithData:aData
                                                            noCopy:false]];
}
@end

@implementation MPSCNNNeuronGradientNode
@synthesize descriptor = _descriptor;

GRADIENT_NODE((MPSNNNeuronDescriptor*, descriptor)) {
  if (!descriptor)
    emulator::refuse("MPSCNNNeuronGradientNode", @"the descriptor is nil");
  self = [super initWithSourceGradient:sourceGradient
                           sourceImage:sourceImage
                                 state:gradientState];
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
