// SPDX-License-Identifier: MIT
// Filters of one element or pixel: neurons, softmax, arithmetic.
#import "metal/mpsnn/filter_nodes.h"

namespace traingraph::metal {
namespace {

MPSNNNeuronDescriptor* mps_descriptor(const nodes::NeuronDescriptor& d) {
  if (d.type == NeuronType::PReLU) {
    NSData* slopes = [NSData dataWithBytes:d.prelu_data.data()
                                    length:d.prelu_data.size() * sizeof(float)];
    return [MPSNNNeuronDescriptor cnnNeuronPReLUDescriptorWithData:slopes
                                                            noCopy:false];
  }
  return [MPSNNNeuronDescriptor
      cnnNeuronDescriptorWithType:static_cast<MPSCNNNeuronType>(d.type)
                                a:d.a
                                b:d.b
                                c:d.c];
}

MPSNNBinaryArithmeticNode* arithmetic_node(ArithmeticOperation operation,
                                           NSArray<MPSNNImageNode*>* sources) {
  switch (operation) {
    case ArithmeticOperation::Add:
      return [MPSNNAdditionNode nodeWithSources:sources];
    case ArithmeticOperation::Subtract:
      return [MPSNNSubtractionNode nodeWithSources:sources];
    case ArithmeticOperation::Multiply:
      return [MPSNNMultiplicationNode nodeWithSources:sources];
    default:
      return [MPSNNDivisionNode nodeWithSources:sources];
  }
}

}  // namespace

MPSNNFilterNode* make_node(const FilterSite& site, const NeuronFilter& filter) {
  return [MPSCNNNeuronNode nodeWithSource:site.image()
                               descriptor:mps_descriptor(filter.descriptor)];
}

MPSNNFilterNode* make_node(const FilterSite& site,
                           const SoftMaxFilter& filter) {
  if (filter.is_logarithm) {
    return [MPSCNNLogSoftMaxNode nodeWithSource:site.image()];
  }
  return [MPSCNNSoftMaxNode nodeWithSource:site.image()];
}

MPSNNFilterNode* make_node(const FilterSite& site,
                           const ArithmeticFilter& filter) {
  MPSNNBinaryArithmeticNode* node =
      arithmetic_node(filter.operation, site.images);
  const auto& o = filter.options;
  [node setPrimaryScale:o.primary_scale];
  [node setSecondaryScale:o.secondary_scale];
  [node setBias:o.bias];
  [node setPrimaryStrideInFeatureChannels:o.primary_strides[0]];
  [node setPrimaryStrideInPixelsY:o.primary_strides[1]];
  [node setPrimaryStrideInPixelsX:o.primary_strides[2]];
  [node setSecondaryStrideInFeatureChannels:o.secondary_strides[0]];
  [node setSecondaryStrideInPixelsY:o.secondary_strides[1]];
  [node setSecondaryStrideInPixelsX:o.secondary_strides[2]];
  [node setMinimumValue:o.minimum_value];
  [node setMaximumValue:o.maximum_value];
  return node;
}

MPSNNFilterNode* make_node(const FilterSite& site, const DropoutFilter&) {
  refuse_filter(site);
}

}  // namespace traingraph::metal
