// SPDX-License-Identifier: MIT
// Kernels of nodes that move or reduce elements.
#pragma once

#import <MPSNeuralNetwork/MPSNNStructureNodes.h>

#include "mpsnn/arithmetic/reduction.h"
#include "mpsnn/arithmetic/structure.h"

namespace emulator::mpsnn {

std::shared_ptr<FilterKernel> concatenation_kernel(const char* name);
/// `index`: of the source in the concatenation.
std::shared_ptr<FilterKernel> concatenation_gradient_kernel(const char* name,
                                                            std::size_t index);

std::shared_ptr<FilterKernel> reshape_gradient_kernel(const char* name);

std::shared_ptr<FilterKernel> pad_kernel(const char* name,
                                         const Padding& padding);
/// The padding is in the state.
std::shared_ptr<FilterKernel> pad_gradient_kernel(const char* name);

/// What a callback said is in the state, too.
std::shared_ptr<FilterKernel> gram_matrix_kernel(
    double alpha, id<MPSNNGramMatrixCallback> callback);
std::shared_ptr<FilterKernel> gram_matrix_gradient_kernel(const char* name,
                                                          double alpha);

std::shared_ptr<FilterKernel> reduce_kernel(const char* name,
                                            const Reduce& operation,
                                            const Clip& clip);
/// The clip is in the state.
std::shared_ptr<FilterKernel> spatial_mean_gradient_kernel(const char* name);

}  // namespace emulator::mpsnn
