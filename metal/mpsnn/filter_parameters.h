// SPDX-License-Identifier: MIT
// FilterParameters: what the data source of a filter asks about its variables
// and tells about their gradients. The data sources are Objective-C objects, as
// MPSNN wants them; they only pass on.
#pragma once

#include <string>
#include <vector>

#import "metal/apple.h"

namespace traingraph::metal {

/// Gradients of one parameter: of the whole batch, or one for each image.
using GradientParts = std::vector<id<MTLBuffer>>;

class FilterParameters {
 public:
  virtual ~FilterParameters() = default;
  virtual std::string label() const = 0;
  /// The variable of a role as the host sees it; null: there is none, or no
  /// memory yet.
  virtual float* host(const char* role) const = 0;

  // While a gradient filter is encoded. Nil: the filter keeps what it has.
  virtual MPSCNNConvolutionWeightsAndBiasesState* update_weights(
      id<MTLCommandBuffer>, MPSCNNConvolutionGradientState*,
      MPSCNNConvolutionDescriptor*) {
    return nil;
  }
  virtual MPSCNNNormalizationGammaAndBetaState* update_gamma_and_beta(
      id<MTLCommandBuffer>, const GradientParts& /*gamma*/,
      const GradientParts& /*beta*/) {
    return nil;
  }
  /// Moves the running statistics, given those of a batch. A filter that
  /// computes with those of the batch has no use for them.
  virtual void move_statistics(id<MTLCommandBuffer>, id<MTLBuffer> /*mean*/,
                               id<MTLBuffer> /*variance*/) {}
};

}  // namespace traingraph::metal
