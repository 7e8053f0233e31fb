// SPDX-License-Identifier: MIT
// Update rules of stochastic gradient descent and Adam.
#include "../arithmetic/optimizer.h"

#include "../arithmetic/elementwise.h"
#include "checks.h"

using namespace emulator;

namespace {

void require_scalar(const char* op, MPSGraphTensor* tensor) {
  if (type_of(tensor).num_elements() == 1) return;
  refuse(op, @"%@ is no scalar", describe(type_of(tensor)));
}

/// Scalars first, then tensors of one shape.
NSArray<MPSGraphTensor*>* add_adam(MPSGraph* graph, NSString* name,
                                   NSArray<MPSGraphTensor*>* scalars,
                                   NSArray<MPSGraphTensor*>* state,
                                   MPSGraphTensor* maximum,
                                   MPSGraphTensor* gradient) {
  const char* op = "adam";
  if (maximum != nil) state = [state arrayByAddingObject:maximum];
  NSArray* tensors =
      [state arrayByAddingObjectsFromArray:inputs_of(op, {gradient})];
  NSArray* inputs = [scalars arrayByAddingObjectsFromArray:tensors];
  const auto types = operands(graph, op, inputs, Elements::kFloat);
  for (MPSGraphTensor* scalar in scalars) require_scalar(op, scalar);
  for (std::size_t i = [scalars count]; i < types.size(); ++i) {
    require_shape(op, @"a tensor's shape", types.back().shape, types[i].shape);
  }
  const bool has_powers = [scalars count] == 6;
  return add_operation(graph, op, name, inputs,
                       std::vector<Type>([state count], types.back()),
                       adam(has_powers, maximum != nil));
}

}  // namespace

@implementation MPSGraph (MPSGraphOptimizerOps)

- (MPSGraphTensor*)
    stochasticGradientDescentWithLearningRateTensor:(MPSGraphTensor*)rate
                                       valuesTensor:(MPSGraphTensor*)values
                                     gradientTensor:(MPSGraphTensor*)gradient
                                               name:(NSString*)name {
  const char* op = "stochasticGradientDescent";
  NSArray* inputs = inputs_of(op, {rate, values, gradient});
  const auto types = operands(self, op, inputs, Elements::kFloat);
  require_scalar(op, rate);
  require_shape(op, @"the gradient's shape", types[1].shape, types[2].shape);
  require_shape(op, @"the result", types[1].shape, broadcast_shape(op, types));
  return add_operation(
      self, op, name, inputs, types[1],
      elementwise([](const double* x) { return x[1] - x[0] * x[2]; }));
}

- (NSArray<MPSGraphTensor*>*)
    adamWithLearningRateTensor:(MPSGraphTensor*)rate
                   beta1Tensor:(MPSGraphTensor*)beta1
                   beta2Tensor:(MPSGraphTensor*)beta2
                 epsilonTensor:(MPSGraphTensor*)epsilon
              beta1PowerTensor:(MPSGraphTensor*)beta1Power
              beta2PowerTensor:(MPSGraphTensor*)beta2Power
                  valuesTensor:(MPSGraphTensor*)values
                momentumTensor:(MPSGraphTensor*)momentum
                velocityTensor:(MPSGraphTensor*)velocity
         maximumVelocityTensor:(MPSGraphTensor*)maximumVelocity
                gradientTensor:(MPSGraphTensor*)gradient
                          name:(NSString*)name {
  NSArray* scalars =
      inputs_of("adam", {rate, beta1, beta2, epsilon, beta1Power, beta2Power});
  return add_adam(self, name, scalars,
                  inputs_of("adam", {values, momentum, velocity}),
                  maximumVelocity, gradient);
}

- (NSArray<MPSGraphTensor*>*)
    adamWithCurrentLearningRateTensor:(MPSGraphTensor*)rate
                          beta1Tensor:(MPSGraphTensor*)beta1
                          beta2Tensor:(MPSGraphTensor*)beta2
                        epsilonTensor:(MPSGraphTensor*)epsilon
                         valuesTensor:(MPSGraphTensor*)values
                       momentumTensor:(MPSGraphTensor*)momentum
                       velocityTensor:(MPSGraphTensor*)velocity
                maximumVelocityTensor:(MPSGraphTensor*)maximumVelocity
                       gradientTensor:(MPSGraphTensor*)gradient
                                 name:(NSString*)name {
  return add_adam(self, name, inputs_of("adam", {rate, beta1, beta2, epsilon}),
                  inputs_of("adam", {values, momentum, velocity}),
                  maximumVelocity, gradient);
}

@end
