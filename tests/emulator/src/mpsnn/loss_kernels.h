// SPDX-License-Identifier: MIT
// Kernels of loss nodes, and the labels that one of them reads.
#pragma once

#import <MPSNeuralNetwork/MPSCNNLossNodes.h>

#include "mpsnn/arithmetic/loss.h"
#import "retained.h"

namespace emulator::mpsnn {

/// MPSCNNLossLabels holds this.
struct LossLabels : FilterState {
  LossLabels(MPSImage* loss_image, MPSImage* labels_image,
             MPSImage* weights_image)
      : loss(loss_image), labels(labels_image), weights(weights_image) {}

  Retained<MPSImage*> loss, labels, weights;
};

/// Refuses a descriptor that is nil or has a reduction that its type cannot.
void require_loss(const char* name, MPSCNNLossDescriptor* descriptor);
Loss loss_of(MPSCNNLossDescriptor* descriptor);

/// The loss goes to the labels, its gradient to the result.
std::shared_ptr<FilterKernel> loss_kernel(const char* name, const Loss& loss);
/// Predictions, labels and perhaps weights to the loss. What the callback says
/// stands for the weight, in the gradient too, which learns it from the state
/// when it has no callback of its own.
std::shared_ptr<FilterKernel> forward_loss_kernel(
    const char* name, const Loss& loss, id<MPSNNLossCallback> callback);
/// Gradient, predictions, labels and perhaps weights. The reduction does not
/// count: Apple says that the gradient ignores it.
std::shared_ptr<FilterKernel> loss_gradient_kernel(
    const char* name, const Loss& loss, bool is_of_labels,
    id<MPSNNLossCallback> callback);

}  // namespace emulator::mpsnn
