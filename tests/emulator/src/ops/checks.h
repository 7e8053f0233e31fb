// SPDX-License-Identifier: MIT
// What operations ask of their arguments. Every check that fails raises
// NSInvalidArgumentException with the operation's name.
#pragma once

#import <MetalPerformanceShadersGraph/MetalPerformanceShadersGraph.h>

#include <optional>

#include "../graph_core.h"

namespace emulator {

/// Element types that an operation takes.
enum class Elements {
  kAny,
  kNumber,  // all but Bool
  kFloat,
  kBool,
  kIndex,  // Int32 and Int64
};

bool is_float(std::uint32_t data_type);
/// "Float32 (2, 3)"
NSString* describe(const Type& type);
NSString* describe(const Dims& dims);

/// The static type of an operand: not nil, of this graph, of known shape.
Type operand(MPSGraph* graph, const char* op, MPSGraphTensor* tensor,
             Elements elements = Elements::kAny);
/// The types of several operands with one element type.
std::vector<Type> operands(MPSGraph* graph, const char* op,
                           NSArray<MPSGraphTensor*>* tensors,
                           Elements elements = Elements::kAny);
/// An operation's inputs; refuses nil.
NSArray<MPSGraphTensor*>* inputs_of(
    const char* op, std::initializer_list<MPSGraphTensor*> tensors);

/// The elements of an operand that must be a constant: shapes that an operation
/// takes as a tensor have to be known when the graph is built.
Dims constant_numbers(MPSGraph* graph, const char* op, NSString* what,
                      MPSGraphTensor* tensor);

/// Shape that all types broadcast to.
Dims broadcast_shape(const char* op, const std::vector<Type>& types);

/// An axis counts from the end if it is negative.
std::size_t axis_of(const char* op, NSInteger axis, std::size_t rank);
/// Ascending and different; nil means all.
Dims axes_of(const char* op, NSArray<NSNumber*>* axes, std::size_t rank);

/// Requires as many numbers as expected, none of them smaller than `least`.
Dims numbers_of(const char* op, NSString* what, NSArray<NSNumber*>* numbers,
                std::size_t count, std::int64_t least);
/// Positive lengths.
Dims result_shape(const char* op, NSArray<NSNumber*>* shape);

/// A shape that must be the expected one.
void require_shape(const char* op, NSString* what, const Dims& expected,
                   const Dims& got);

}  // namespace emulator
