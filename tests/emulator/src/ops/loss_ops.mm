// SPDX-License-Identifier: MIT
// Softmax cross entropy.
#include "../arithmetic/reduction.h"
#include "checks.h"

using namespace emulator;

namespace {

/// A line along `axis` is one prediction.
struct Loss {
  std::size_t axis;
  bool reduces;
  double factor;
  Type result;
};

Loss loss_of(const char* op, const Type& source, const Type& labels,
             NSInteger axis, MPSGraphLossReductionType reduction) {
  require_shape(op, @"the labels' shape", source.shape, labels.shape);
  const std::size_t at = axis_of(op, axis, source.shape.size());
  Loss loss{at, reduction != MPSGraphLossReductionTypeNone, 1, source};
  loss.result.shape[at] = 1;
  if (reduction == MPSGraphLossReductionTypeMean) {
    loss.factor = 1 / static_cast<double>(loss.result.num_elements());
  }
  if (loss.reduces) loss.result.shape = {1};
  return loss;
}

}  // namespace

@implementation MPSGraph (MPSGraphLossOps)

- (MPSGraphTensor*)
    softMaxCrossEntropyWithSourceTensor:(MPSGraphTensor*)source
                           labelsTensor:(MPSGraphTensor*)labels
                                   axis:(NSInteger)axis
                          reductionType:(MPSGraphLossReductionType)reductionType
                                   name:(NSString*)name {
  const char* op = "softMaxCrossEntropy";
  NSArray* inputs = inputs_of(op, {source, labels});
  const auto types = operands(self, op, inputs, Elements::kFloat);
  const Loss loss = loss_of(op, types[0], types[1], axis, reductionType);
  return add_operation(
      self, op, name, inputs, loss.result,
      softmax_cross_entropy(loss.axis, loss.reduces, loss.factor));
}

- (MPSGraphTensor*)
    softMaxCrossEntropyGradientWithIncomingGradientTensor:
        (MPSGraphTensor*)gradient
                                             sourceTensor:
                                                 (MPSGraphTensor*)source
                                             labelsTensor:
                                                 (MPSGraphTensor*)labels
                                                     axis:(NSInteger)axis
                                            reductionType:
                                                (MPSGraphLossReductionType)
                                                    reductionType
                                                     name:(NSString*)name {
  const char* op = "softMaxCrossEntropyGradient";
  NSArray* inputs = inputs_of(op, {gradient, source, labels});
  const auto types = operands(self, op, inputs, Elements::kFloat);
  const Loss loss = loss_of(op, types[1], types[2], axis, reductionType);
  if (types[0].num_elements() != 1) {
    require_shape(op, @"the incoming gradient's shape", loss.result.shape,
                  types[0].shape);
  }
  return add_operation(self, op, name, inputs, types[1],
                       softmax_cross_entropy_gradient(loss.axis, loss.factor));
}

@end
