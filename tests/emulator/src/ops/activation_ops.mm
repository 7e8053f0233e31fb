// SPDX-License-Identifier: MIT
// ReLU, leaky ReLU, sigmoid, softmax and their gradients.
#include <cmath>

#include "../arithmetic/elementwise.h"
#include "../arithmetic/reduction.h"
#include "checks.h"

using namespace emulator;

namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// Tensors that broadcast against the first one, whose type the result has.
MPSGraphTensor* add_activation(MPSGraph* graph, const char* op, NSString* name,
                               NSArray<MPSGraphTensor*>* inputs,
                               Kernel kernel) {
  const auto types = operands(graph, op, inputs, Elements::kFloat);
  require_shape(op, @"the result", types[0].shape, broadcast_shape(op, types));
  return add_operation(graph, op, name, inputs, types[0], std::move(kernel));
}

/// A gradient: the same, with equal shapes of incoming gradient and source.
MPSGraphTensor* add_gradient(MPSGraph* graph, const char* op, NSString* name,
                             NSArray<MPSGraphTensor*>* inputs, Kernel kernel) {
  const auto types = operands(graph, op, inputs, Elements::kFloat);
  require_shape(op, @"the source's shape", types[0].shape, types[1].shape);
  return add_activation(graph, op, name, inputs, std::move(kernel));
}

}  // namespace

@implementation MPSGraph (MPSGraphActivationOps)

- (MPSGraphTensor*)reLUWithTensor:(MPSGraphTensor*)tensor name:(NSString*)name {
  return add_activation(
      self, "reLU", name, inputs_of("reLU", {tensor}),
      unary([](double x) -> double { return x > 0 ? x : 0; }));
}

- (MPSGraphTensor*)reLUGradientWithIncomingGradient:(MPSGraphTensor*)gradient
                                       sourceTensor:(MPSGraphTensor*)source
                                               name:(NSString*)name {
  const char* op = "reLUGradient";
  return add_gradient(
      self, op, name, inputs_of(op, {gradient, source}),
      binary([](double g, double x) -> double { return x > 0 ? g : 0; }));
}

- (MPSGraphTensor*)sigmoidWithTensor:(MPSGraphTensor*)tensor
                                name:(NSString*)name {
  return add_activation(self, "sigmoid", name, inputs_of("sigmoid", {tensor}),
                        unary(sigmoid));
}

- (MPSGraphTensor*)sigmoidGradientWithIncomingGradient:(MPSGraphTensor*)gradient
                                          sourceTensor:(MPSGraphTensor*)source
                                                  name:(NSString*)name {
  const char* op = "sigmoidGradient";
  return add_gradient(self, op, name, inputs_of(op, {gradient, source}),
                      binary([](double g, double x) {
                        return g * sigmoid(x) * (1 - sigmoid(x));
                      }));
}

- (MPSGraphTensor*)softMaxWithTensor:(MPSGraphTensor*)tensor
                                axis:(NSInteger)axis
                                name:(NSString*)name {
  const char* op = "softMax";
  const Type type = operand(self, op, tensor, Elements::kFloat);
  return add_activation(self, op, name, inputs_of(op, {tensor}),
                        softmax(axis_of(op, axis, type.shape.size())));
}

- (MPSGraphTensor*)softMaxGradientWithIncomingGradient:(MPSGraphTensor*)gradient
                                          sourceTensor:(MPSGraphTensor*)source
                                                  axis:(NSInteger)axis
                                                  name:(NSString*)name {
  const char* op = "softMaxGradient";
  const Type type = operand(self, op, source, Elements::kFloat);
  return add_gradient(self, op, name, inputs_of(op, {gradient, source}),
                      softmax_gradient(axis_of(op, axis, type.shape.size())));
}

- (MPSGraphTensor*)leakyReLUWithTensor:(MPSGraphTensor*)tensor
                                 alpha:(double)alpha
                                  name:(NSString*)name {
  const char* op = "leakyReLU";
  return add_activation(self, op, name, inputs_of(op, {tensor}),
                        elementwise([alpha](const double* x) {
                          return x[0] >= 0 ? x[0] : alpha * x[0];
                        }));
}

- (MPSGraphTensor*)leakyReLUWithTensor:(MPSGraphTensor*)tensor
                           alphaTensor:(MPSGraphTensor*)alpha
                                  name:(NSString*)name {
  const char* op = "leakyReLU";
  return add_activation(
      self, op, name, inputs_of(op, {tensor, alpha}),
      binary([](double x, double a) { return x >= 0 ? x : a * x; }));
}

- (MPSGraphTensor*)leakyReLUGradientWithIncomingGradient:
                       (MPSGraphTensor*)gradient
                                            sourceTensor:(MPSGraphTensor*)source
                                             alphaTensor:(MPSGraphTensor*)alpha
                                                    name:(NSString*)name {
  const char* op = "leakyReLUGradient";
  return add_gradient(self, op, name, inputs_of(op, {gradient, source, alpha}),
                      elementwise([](const double* x) {
                        return x[1] >= 0 ? x[0] : x[2] * x[0];
                      }));
}

@end
