// SPDX-License-Identifier: MIT
#import "tests/metal_probes/image_parameters.h"

namespace traingraph::metal::probes {

void ProbeParameters::note(const char* what, id<MTLCommandBuffer> buffer,
                           id<MTLBuffer> from) {
  buffers_[what].push_back(from ? copy_for_host(buffer, from)
                                : ObjcPtr<id<MTLBuffer>>());
}

std::vector<Numbers> ProbeParameters::got(const std::string& what) const {
  std::vector<Numbers> all;
  const auto found = buffers_.find(what);
  if (found == buffers_.end()) return all;
  for (const auto& buffer : found->second) {
    all.push_back(buffer.get()
                      ? numbers_in(buffer.get(), [buffer.get() length] / 4)
                      : Numbers());
  }
  return all;
}

MPSCNNConvolutionWeightsAndBiasesState* ProbeParameters::update_weights(
    id<MTLCommandBuffer> buffer, MPSCNNConvolutionGradientState* gradient,
    MPSCNNConvolutionDescriptor* descriptor) {
  weights_state =
      [gradient isTemporary]
          ? "temporary, with " + std::to_string([gradient readCount]) + " reads"
          : "not temporary";
  note("weights", buffer, [gradient gradientForWeights]);
  note("biases", buffer, [gradient gradientForBiases]);
  if (!new_weights) return nil;
  const auto weights = new_weights(buffer, gradient);
  const auto biases = make_buffer([descriptor outputFeatureChannels] * 4);
  return [[[MPSCNNConvolutionWeightsAndBiasesState alloc]
               initWithWeights:weights.get()
                 weightsOffset:0
                        biases:biases.get()
                  biasesOffset:0
      cnnConvolutionDescriptor:descriptor] autorelease];
}

MPSCNNNormalizationGammaAndBetaState* ProbeParameters::update_gamma_and_beta(
    id<MTLCommandBuffer> buffer, const GradientParts& gamma,
    const GradientParts& beta) {
  for (id<MTLBuffer> part : gamma) note("gamma", buffer, part);
  for (id<MTLBuffer> part : beta) note("beta", buffer, part);
  return nil;
}

void ProbeParameters::move_statistics(id<MTLCommandBuffer> buffer,
                                      id<MTLBuffer> mean,
                                      id<MTLBuffer> variance) {
  note("mean", buffer, mean);
  note("variance", buffer, variance);
}

nodes::ConvolutionDescriptor row_kernel(std::int64_t width,
                                        std::int64_t stride) {
  nodes::ConvolutionDescriptor d;
  d.input_feature_channels = d.output_feature_channels = 1;
  d.kernel_size = {1, width};
  d.strides = {1, stride};
  return d;
}

MPSCNNConvolutionNode* convolution(MPSNNImageNode* source,
                                   ProbeParameters& parameters,
                                   const nodes::ConvolutionDescriptor& d) {
  MPSCNNConvolutionNode* node = [MPSCNNConvolutionNode
      nodeWithSource:source
             weights:[TGConvolutionData dataWithDescriptor:d
                                                parameters:&parameters]];
  [node
      setAccumulatorPrecision:MPSNNConvolutionAccumulatorPrecisionOptionFloat];
  return node;
}

}  // namespace traingraph::metal::probes
