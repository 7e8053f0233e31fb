// SPDX-License-Identifier: MIT
// Filters of windows: convolutions, pooling, contrast.
#import "metal/mpsnn/convolution_data.h"
#import "metal/mpsnn/filter_nodes.h"

namespace traingraph::metal {
namespace {

template <class Node>
MPSNNFilterNode* pooling_node(MPSNNImageNode* source,
                              const nodes::PoolingOptions& o) {
  return [[[Node alloc] initWithSource:source
                           kernelWidth:o.kernel_size[1]
                          kernelHeight:o.kernel_size[0]
                       strideInPixelsX:o.strides[1]
                       strideInPixelsY:o.strides[0]] autorelease];
}

MPSNNFilterNode* pooling_node(PoolingKind kind, MPSNNImageNode* source,
                              const nodes::PoolingOptions& o) {
  switch (kind) {
    case PoolingKind::Max:
      return pooling_node<MPSCNNPoolingMaxNode>(source, o);
    case PoolingKind::Average:
      return pooling_node<MPSCNNPoolingAverageNode>(source, o);
    case PoolingKind::L2Norm:
      return pooling_node<MPSCNNPoolingL2NormNode>(source, o);
    case PoolingKind::DilatedMax:
      break;
  }
  return [[[MPSCNNDilatedPoolingMaxNode alloc]
       initWithSource:source
          kernelWidth:o.kernel_size[1]
         kernelHeight:o.kernel_size[0]
      strideInPixelsX:o.strides[1]
      strideInPixelsY:o.strides[0]
        dilationRateX:o.dilation_rates[1]
        dilationRateY:o.dilation_rates[0]] autorelease];
}

template <class Options>
void set_contrast(MPSCNNNormalizationNode* node, const Options& o) {
  [node setAlpha:o.alpha];
  [node setBeta:o.beta];
  [node setDelta:o.delta];
}

}  // namespace

MPSNNFilterNode* make_node(const FilterSite& site,
                           const ConvolutionFilter& filter) {
  TGConvolutionData* data =
      [TGConvolutionData dataWithDescriptor:filter.descriptor
                                 parameters:site.parameters];
  Class type = filter.is_fully_connected ? [MPSCNNFullyConnectedNode class]
                                         : [MPSCNNConvolutionNode class];
  MPSCNNConvolutionNode* node = [type nodeWithSource:site.image() weights:data];
  if (!filter.is_fully_connected) {
    [node setPaddingPolicy:padding_of(filter.padding)];
  }
  [node
      setAccumulatorPrecision:MPSNNConvolutionAccumulatorPrecisionOptionFloat];
  [node setTrainingStyle:site.training_style()];
  return node;
}

MPSNNFilterNode* make_node(const FilterSite& site,
                           const ConvolutionTransposeFilter&) {
  refuse_filter(site);
}

MPSNNFilterNode* make_node(const FilterSite& site,
                           const PoolingFilter& filter) {
  MPSNNFilterNode* node =
      pooling_node(filter.kind, site.image(), filter.options);
  [node setPaddingPolicy:padding_of(filter.options.padding)];
  return node;
}

MPSNNFilterNode* make_node(const FilterSite& site,
                           const CrossChannelNormalizationFilter& filter) {
  const auto& o = filter.options;
  MPSCNNCrossChannelNormalizationNode* node =
      [MPSCNNCrossChannelNormalizationNode nodeWithSource:site.image()
                                               kernelSize:o.kernel_size];
  set_contrast(node, o);
  return node;
}

MPSNNFilterNode* make_node(const FilterSite& site,
                           const SpatialNormalizationFilter& filter) {
  const auto& o = filter.options;
  MPSCNNSpatialNormalizationNode* node =
      [MPSCNNSpatialNormalizationNode nodeWithSource:site.image()
                                          kernelSize:o.kernel_size];
  set_contrast(node, o);
  return node;
}

MPSNNFilterNode* make_node(const FilterSite& site,
                           const LocalContrastNormalizationFilter& filter) {
  const auto& o = filter.options;
  MPSCNNLocalContrastNormalizationNode* node =
      [MPSCNNLocalContrastNormalizationNode nodeWithSource:site.image()
                                                kernelSize:o.kernel_size[0]];
  [node setKernelHeight:o.kernel_size[0]];
  [node setKernelWidth:o.kernel_size[1]];
  set_contrast(node, o);
  [node setPm:o.pm];
  [node setPs:o.ps];
  [node setP0:o.p0];
  return node;
}

}  // namespace traingraph::metal
