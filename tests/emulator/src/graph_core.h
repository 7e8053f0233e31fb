// SPDX-License-Identifier: MIT
// How the op files of the emulator add operations to an MPSGraph.
#pragma once

#import <MetalPerformanceShadersGraph/MetalPerformanceShadersGraph.h>

#include "array.h"

namespace emulator {

/// Static type of a symbolic tensor.
Type type_of(MPSGraphTensor* tensor);
Dims dims_of(NSArray<NSNumber*>* numbers);
NSArray<NSNumber*>* shape_of(const Dims& dims);

/// Adds an operation named `op` ("addition", "conv2D"; faults name it so) with
/// one symbolic result per type.
NSArray<MPSGraphTensor*>* add_operation(MPSGraph* graph, const char* op,
                                        NSString* name,
                                        NSArray<MPSGraphTensor*>* inputs,
                                        const std::vector<Type>& results,
                                        Kernel kernel);
/// Adds an operation with one result.
MPSGraphTensor* add_operation(MPSGraph* graph, const char* op, NSString* name,
                              NSArray<MPSGraphTensor*>* inputs,
                              const Type& result, Kernel kernel);

/// Raises NSInvalidArgumentException, as Apple's assertions abort: a tensor is
/// nil, of another graph, an axis is out of range, element types differ ...
[[noreturn]] void refuse(const char* op, NSString* format, ...);
void require_tensor(MPSGraph* graph, const char* op, MPSGraphTensor* tensor);

}  // namespace emulator
