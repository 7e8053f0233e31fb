// SPDX-License-Identifier: MIT
// Elementwise arithmetic, comparisons, logic and selection.
#pragma once

#import <MetalPerformanceShadersGraph/MPSGraph.h>

// One row per operation.
#define EMULATED_UNARY(op)                                        \
  -(MPSGraphTensor*)op##WithTensor : (MPSGraphTensor*)tensor name \
      : (NSString*)name;
#define EMULATED_BINARY(op)                            \
  -(MPSGraphTensor*)op##WithPrimaryTensor              \
      : (MPSGraphTensor*)primaryTensor secondaryTensor \
      : (MPSGraphTensor*)secondaryTensor name : (NSString*)name;

@interface MPSGraph (MPSGraphArithmeticOps)
// clang-format off
EMULATED_UNARY(identity)
EMULATED_UNARY(exponent)
EMULATED_UNARY(exponentBase2)
EMULATED_UNARY(exponentBase10)
EMULATED_UNARY(logarithm)
EMULATED_UNARY(logarithmBase2)
EMULATED_UNARY(logarithmBase10)
EMULATED_UNARY(square)
EMULATED_UNARY(squareRoot)
EMULATED_UNARY(reverseSquareRoot)
EMULATED_UNARY(reciprocal)
EMULATED_UNARY(absolute)
EMULATED_UNARY(negative)
EMULATED_UNARY(sign)
EMULATED_UNARY(signbit)
EMULATED_UNARY(ceil)
EMULATED_UNARY(floor)
EMULATED_UNARY(round)
EMULATED_UNARY(rint)
EMULATED_UNARY(truncate)
EMULATED_UNARY(sin)
EMULATED_UNARY(cos)
EMULATED_UNARY(tan)
EMULATED_UNARY(sinh)
EMULATED_UNARY(cosh)
EMULATED_UNARY(tanh)
EMULATED_UNARY(asin)
EMULATED_UNARY(acos)
EMULATED_UNARY(atan)
EMULATED_UNARY(asinh)
EMULATED_UNARY(acosh)
EMULATED_UNARY(atanh)
EMULATED_UNARY(not)
EMULATED_UNARY(isInfinite)
EMULATED_UNARY(isFinite)
EMULATED_UNARY(isNaN)
EMULATED_UNARY(erf)
EMULATED_BINARY(addition)
EMULATED_BINARY(subtraction)
EMULATED_BINARY(multiplication)
EMULATED_BINARY(division)
EMULATED_BINARY(divisionNoNaN)
EMULATED_BINARY(modulo)
EMULATED_BINARY(floorModulo)
EMULATED_BINARY(power)
EMULATED_BINARY(minimum)
EMULATED_BINARY(maximum)
EMULATED_BINARY(minimumWithNaNPropagation)
EMULATED_BINARY(maximumWithNaNPropagation)
EMULATED_BINARY(atan2)
EMULATED_BINARY(equal)
EMULATED_BINARY(notEqual)
EMULATED_BINARY(lessThan)
EMULATED_BINARY(lessThanOrEqualTo)
EMULATED_BINARY(greaterThan)
EMULATED_BINARY(greaterThanOrEqualTo)
EMULATED_BINARY(logicalAND)
EMULATED_BINARY(logicalOR)
EMULATED_BINARY(logicalNAND)
EMULATED_BINARY(logicalNOR)
EMULATED_BINARY(logicalXOR)
EMULATED_BINARY(logicalXNOR)
// clang-format on
- (MPSGraphTensor*)selectWithPredicateTensor:(MPSGraphTensor*)predicateTensor
                         truePredicateTensor:(MPSGraphTensor*)trueTensor
                        falsePredicateTensor:(MPSGraphTensor*)falseTensor
                                        name:(NSString*)name;
- (MPSGraphTensor*)clampWithTensor:(MPSGraphTensor*)tensor
                    minValueTensor:(MPSGraphTensor*)minValueTensor
                    maxValueTensor:(MPSGraphTensor*)maxValueTensor
                              name:(NSString*)name;
@end

#undef EMULATED_UNARY
#undef EMULATED_BINARY
