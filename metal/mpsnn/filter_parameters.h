// SPDX-License-Identifier: MIT
// FilterParameters: what the data source of a filter asks about its variables
// and tells about their gradients. The data sources are Objective-C objects, as
// MPSNN wants them; they only pass on.
#pragma once

#include <string>

#import "metal/apple.h"

namespace traingraph::metal {

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
};

}  // namespace traingraph::metal
