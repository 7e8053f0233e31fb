// SPDX-License-Identifier: MIT
// Parameters behind the library's own data sources, which note what MPSNN asks
// of them and hands over.
#pragma once

#include <map>

#import "metal/mpsnn/convolution_data.h"
#import "metal/mpsnn/normalization_data.h"
#import "tests/metal_probes/image_lab.h"

namespace traingraph::metal::probes {

class ProbeParameters final : public FilterParameters {
 public:
  explicit ProbeParameters(std::map<std::string, Numbers> values)
      : values_(std::move(values)) {}

  std::string label() const override { return "probe"; }
  float* host(const char* role) const override {
    const auto found = values_.find(role);
    return found == values_.end() ? nullptr : found->second.data();
  }
  MPSCNNConvolutionWeightsAndBiasesState* update_weights(
      id<MTLCommandBuffer> buffer, MPSCNNConvolutionGradientState* gradient,
      MPSCNNConvolutionDescriptor* descriptor) override;
  MPSCNNNormalizationGammaAndBetaState* update_gamma_and_beta(
      id<MTLCommandBuffer> buffer, const GradientParts& gamma,
      const GradientParts& beta) override;
  void move_statistics(id<MTLCommandBuffer> buffer, id<MTLBuffer> mean,
                       id<MTLBuffer> variance) override;

  Numbers& values(const std::string& role) { return values_[role]; }
  /// What was handed over: "weights", "biases", "gamma", "beta", of each image
  /// or of all; "mean", "variance".
  std::vector<Numbers> got(const std::string& what) const;
  bool was_asked(const std::string& what) const {
    return buffers_.contains(what);
  }
  std::string
      weights_state;  // of the gradient state: what it says about itself

  /// What becomes of weights: their buffers are the result of an update. Nil:
  /// MPSNN keeps what it has.
  std::function<ObjcPtr<id<MTLBuffer>>(
      id<MTLCommandBuffer> buffer, MPSCNNConvolutionGradientState* gradient)>
      new_weights;

 private:
  void note(const char* what, id<MTLCommandBuffer> buffer, id<MTLBuffer> from);

  mutable std::map<std::string, Numbers> values_;
  std::map<std::string, std::vector<ObjcPtr<id<MTLBuffer>>>> buffers_;
};

/// One channel to one, of a row: weights (1, width).
nodes::ConvolutionDescriptor row_kernel(std::int64_t width,
                                        std::int64_t stride = 1);

MPSCNNConvolutionNode* convolution(MPSNNImageNode* source,
                                   ProbeParameters& parameters,
                                   const nodes::ConvolutionDescriptor& d);

}  // namespace traingraph::metal::probes
