// SPDX-License-Identifier: MIT
// Matrix multiplication.
#include "../arithmetic/matmul.h"

#include "checks.h"

using namespace emulator;

@implementation MPSGraph (MPSGraphMatrixMultiplicationOps)

- (MPSGraphTensor*)
    matrixMultiplicationWithPrimaryTensor:(MPSGraphTensor*)primary
                          secondaryTensor:(MPSGraphTensor*)secondary
                                     name:(NSString*)name {
  const char* op = "matrixMultiplication";
  NSArray* inputs = inputs_of(op, {primary, secondary});
  auto types = operands(self, op, inputs, Elements::kFloat);
  for (const Type& type : types) {
    if (type.shape.size() < 2 || type.shape.size() > 4) {
      refuse(op, @"%@ must have rank 2, 3 or 4", describe(type));
    }
  }
  const std::int64_t rows = types[0].shape.end()[-2];
  const std::int64_t columns = types[1].shape.back();
  if (types[0].shape.back() != types[1].shape.end()[-2]) {
    refuse(op, @"%@ and %@ do not have the same inner length",
           describe(types[0]), describe(types[1]));
  }
  for (Type& type : types) type.shape.resize(type.shape.size() - 2);
  Dims result = broadcast_shape(op, types);
  result.push_back(rows);
  result.push_back(columns);
  return add_operation(self, op, name, inputs, Type{types[0].data_type, result},
                       matmul());
}

@end
