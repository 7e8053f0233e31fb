// SPDX-License-Identifier: MIT
#import "metal/mpsnn/convolution_data.h"

#import "metal/mpsnn/read_counts.h"

using traingraph::metal::count_read;
using traingraph::metal::FilterParameters;

namespace {

MPSCNNConvolutionDescriptor* mps_descriptor(
    const traingraph::nodes::ConvolutionDescriptor& d) {
  Class type = d.is_depthwise ? [MPSCNNDepthWiseConvolutionDescriptor class]
                              : [MPSCNNConvolutionDescriptor class];
  MPSCNNConvolutionDescriptor* descriptor =
      [type cnnConvolutionDescriptorWithKernelWidth:d.kernel_size[1]
                                       kernelHeight:d.kernel_size[0]
                               inputFeatureChannels:d.input_feature_channels
                              outputFeatureChannels:d.output_feature_channels];
  [descriptor setStrideInPixelsX:d.strides[1]];
  [descriptor setStrideInPixelsY:d.strides[0]];
  [descriptor setDilationRateX:d.dilation_rates[1]];
  [descriptor setDilationRateY:d.dilation_rates[0]];
  if (!d.is_depthwise) [descriptor setGroups:d.groups];
  return descriptor;
}

}  // namespace

@implementation TGConvolutionData
+ (instancetype)dataWithDescriptor:
                    (const traingraph::nodes::ConvolutionDescriptor&)descriptor
                        parameters:(FilterParameters*)parameters {
  TGConvolutionData* data = [self dataWithParameters:parameters];
  data->_descriptor = [mps_descriptor(descriptor) retain];
  return data;
}

- (void)dealloc {
  [_descriptor release];
  [super dealloc];
}

- (id)copyWithZone:(NSZone*)zone {
  TGConvolutionData* copy = [super copyWithZone:zone];
  copy->_descriptor = [_descriptor retain];
  return copy;
}

- (MPSDataType)dataType {
  return MPSDataTypeFloat32;
}
- (MPSDataType)kernelWeightsDataType {
  return MPSDataTypeFloat32;
}
- (MPSCNNConvolutionWeightsLayout)weightsLayout {
  return MPSCNNConvolutionWeightsLayoutOHWI;
}
- (MPSCNNConvolutionDescriptor*)descriptor {
  return _descriptor;
}
- (void*)weights {
  return _parameters->host("weights");
}
- (float*)biasTerms {
  return _parameters->host("biases");
}

- (MPSCNNConvolutionWeightsAndBiasesState*)
    updateWithCommandBuffer:(id<MTLCommandBuffer>)buffer
              gradientState:(MPSCNNConvolutionGradientState*)gradient
                sourceState:(MPSCNNConvolutionWeightsAndBiasesState*)source {
  MPSCNNConvolutionWeightsAndBiasesState* updated =
      _parameters->update_weights(buffer, gradient, _descriptor);
  count_read(gradient);
  count_read(source);
  return updated;
}
@end
