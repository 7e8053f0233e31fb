// SPDX-License-Identifier: MIT
// Random numbers, and the descriptor that says which.
#include "../arithmetic/random.h"

#include "checks.h"
#include "descriptor_class.h"

using namespace emulator;

namespace {

MPSGraphTensor* add_state(MPSGraph* graph, NSString* name,
                          std::vector<double> state) {
  const Type type{MPSDataTypeInt32, {kRandomStateWords}};
  return add_operation(
      graph, "randomPhiloxState", name, @[], type,
      [state](const auto&, auto& results) { results[0].data = state; });
}

RandomNumbers drawn_numbers(const char* op, MPSGraphRandomOpDescriptor* d) {
  if (d == nil) refuse(op, @"the descriptor is nil");
  RandomNumbers numbers{Distribution::kUniform,
                        [d min],
                        [d max],
                        [d mean],
                        [d standardDeviation],
                        [d dataType] == MPSDataTypeInt32};
  if ([d distribution] == MPSGraphRandomDistributionNormal) {
    numbers.distribution = Distribution::kNormal;
  } else if ([d distribution] == MPSGraphRandomDistributionTruncatedNormal) {
    numbers.distribution = Distribution::kTruncatedNormal;
  }
  if (numbers.is_integer) {
    numbers.min = static_cast<double>([d minInteger]);
    numbers.max = static_cast<double>([d maxInteger]);
  }
  const bool is_half_or_float =
      [d dataType] == MPSDataTypeFloat32 || [d dataType] == MPSDataTypeFloat16;
  const bool is_uniform = numbers.distribution == Distribution::kUniform;
  if (!is_half_or_float && !(numbers.is_integer && is_uniform)) {
    refuse(op, @"type 0x%08x cannot be drawn from this distribution",
           [d dataType]);
  }
  return numbers;
}

MPSGraphRandomOpDescriptor* uniform() {
  return [MPSGraphRandomOpDescriptor
      descriptorWithDistribution:MPSGraphRandomDistributionUniform
                        dataType:MPSDataTypeFloat32];
}

}  // namespace

@implementation MPSGraphRandomOpDescriptor
FIELDS(MPSGraphRandomOpDescriptor, EMULATED_RANDOM_FIELDS)

+ (instancetype)descriptorWithDistribution:
                    (MPSGraphRandomDistribution)distribution
                                  dataType:(MPSDataType)dataType {
  MPSGraphRandomOpDescriptor* descriptor = [[[self alloc] init] autorelease];
  [descriptor setDistribution:distribution];
  [descriptor setDataType:dataType];
  if (distribution == MPSGraphRandomDistributionUniform) return descriptor;
  [descriptor setMin:-2];
  [descriptor setMax:2];
  return descriptor;
}

- (instancetype)init {
  self = [super init];
  if (self == nil) return nil;
  _max = 1;
  _maxInteger = INT32_MAX;
  _standardDeviation = 1;
  return self;
}

@end

@implementation MPSGraph (MPSGraphRandomOps)

- (MPSGraphTensor*)randomPhiloxStateTensorWithSeed:(NSUInteger)seed
                                              name:(NSString*)name {
  return add_state(self, name, random_state(0, 0, seed));
}

- (MPSGraphTensor*)randomPhiloxStateTensorWithCounterLow:(NSUInteger)counterLow
                                             counterHigh:(NSUInteger)counterHigh
                                                     key:(NSUInteger)key
                                                    name:(NSString*)name {
  return add_state(self, name, random_state(counterLow, counterHigh, key));
}

- (MPSGraphTensor*)randomTensorWithShape:(MPSShape*)shape
                              descriptor:(MPSGraphRandomOpDescriptor*)descriptor
                                    seed:(NSUInteger)seed
                                    name:(NSString*)name {
  const char* op = "random";
  const RandomNumbers numbers = drawn_numbers(op, descriptor);
  const Type type{[descriptor dataType], result_shape(op, shape)};
  return add_operation(self, op, name, @[], type,
                       random_numbers_of(numbers, random_state(0, 0, seed)));
}

- (NSArray<MPSGraphTensor*>*)
    randomTensorWithShape:(MPSShape*)shape
               descriptor:(MPSGraphRandomOpDescriptor*)descriptor
              stateTensor:(MPSGraphTensor*)state
                     name:(NSString*)name {
  const char* op = "random";
  const RandomNumbers numbers = drawn_numbers(op, descriptor);
  const Type values{[descriptor dataType], result_shape(op, shape)};
  const Type state_type{MPSDataTypeInt32, {kRandomStateWords}};
  if (operand(self, op, state) != state_type) {
    refuse(op, @"the state is %@, expected %@", describe(type_of(state)),
           describe(state_type));
  }
  return add_operation(self, op, name, inputs_of(op, {state}),
                       std::vector<Type>{values, state_type},
                       random_numbers(numbers));
}

- (MPSGraphTensor*)randomUniformTensorWithShape:(MPSShape*)shape
                                           seed:(NSUInteger)seed
                                           name:(NSString*)name {
  return [self randomTensorWithShape:shape
                          descriptor:uniform()
                                seed:seed
                                name:name];
}

- (NSArray<MPSGraphTensor*>*)randomUniformTensorWithShape:(MPSShape*)shape
                                              stateTensor:(MPSGraphTensor*)state
                                                     name:(NSString*)name {
  return [self randomTensorWithShape:shape
                          descriptor:uniform()
                         stateTensor:state
                                name:name];
}

@end
