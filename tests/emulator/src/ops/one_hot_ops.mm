// SPDX-License-Identifier: MIT
// One-hot vectors; the shorter forms leave out axis, type and values.
#include "../arithmetic/indexing.h"
#include "checks.h"

using namespace emulator;

namespace {

constexpr NSUInteger kLastAxis = NSUInteger(-1);

MPSGraphTensor* add_one_hot(MPSGraph* graph, NSString* name,
                            MPSGraphTensor* indices, NSUInteger depth,
                            NSUInteger axis, MPSDataType data_type,
                            double on_value, double off_value) {
  const char* op = "oneHot";
  Dims dims = operand(graph, op, indices, Elements::kIndex).shape;
  if (depth < 1) refuse(op, @"depth is 0");
  const std::size_t at = axis_of(op, NSInteger(axis), dims.size() + 1);
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(at),
              static_cast<std::int64_t>(depth));
  return add_operation(graph, op, name, inputs_of(op, {indices}),
                       Type{data_type, dims}, one_hot(at, on_value, off_value));
}

}  // namespace

@implementation MPSGraph (MPSGraphOneHotOps)

- (MPSGraphTensor*)oneHotWithIndicesTensor:(MPSGraphTensor*)indicesTensor
                                     depth:(NSUInteger)depth
                                      axis:(NSUInteger)axis
                                  dataType:(MPSDataType)dataType
                                   onValue:(double)onValue
                                  offValue:(double)offValue
                                      name:(NSString*)name {
  return add_one_hot(self, name, indicesTensor, depth, axis, dataType, onValue,
                     offValue);
}

- (MPSGraphTensor*)oneHotWithIndicesTensor:(MPSGraphTensor*)indicesTensor
                                     depth:(NSUInteger)depth
                                      axis:(NSUInteger)axis
                                  dataType:(MPSDataType)dataType
                                      name:(NSString*)name {
  return add_one_hot(self, name, indicesTensor, depth, axis, dataType, 1, 0);
}

- (MPSGraphTensor*)oneHotWithIndicesTensor:(MPSGraphTensor*)indicesTensor
                                     depth:(NSUInteger)depth
                                      axis:(NSUInteger)axis
                                      name:(NSString*)name {
  return add_one_hot(self, name, indicesTensor, depth, axis, MPSDataTypeFloat32,
                     1, 0);
}

- (MPSGraphTensor*)oneHotWithIndicesTensor:(MPSGraphTensor*)indicesTensor
                                     depth:(NSUInteger)depth
                                  dataType:(MPSDataType)dataType
                                   onValue:(double)onValue
                                  offValue:(double)offValue
                                      name:(NSString*)name {
  return add_one_hot(self, name, indicesTensor, depth, kLastAxis, dataType,
                     onValue, offValue);
}

- (MPSGraphTensor*)oneHotWithIndicesTensor:(MPSGraphTensor*)indicesTensor
                                     depth:(NSUInteger)depth
                                  dataType:(MPSDataType)dataType
                                      name:(NSString*)name {
  return add_one_hot(self, name, indicesTensor, depth, kLastAxis, dataType, 1,
                     0);
}

- (MPSGraphTensor*)oneHotWithIndicesTensor:(MPSGraphTensor*)indicesTensor
                                     depth:(NSUInteger)depth
                                      name:(NSString*)name {
  return add_one_hot(self, name, indicesTensor, depth, kLastAxis,
                     MPSDataTypeFloat32, 1, 0);
}

@end
