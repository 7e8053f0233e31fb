// SPDX-License-Identifier: MIT
// Filters that move, repeat or reduce elements.
#import "metal/mpsnn/filter_nodes.h"

namespace traingraph::metal {
namespace {

Class reduction_class(ImageReduction reduction) {
  switch (reduction) {
    case ImageReduction::RowMin:
      return [MPSNNReductionRowMinNode class];
    case ImageReduction::RowMax:
      return [MPSNNReductionRowMaxNode class];
    case ImageReduction::RowSum:
      return [MPSNNReductionRowSumNode class];
    case ImageReduction::RowMean:
      return [MPSNNReductionRowMeanNode class];
    case ImageReduction::ColumnMin:
      return [MPSNNReductionColumnMinNode class];
    case ImageReduction::ColumnMax:
      return [MPSNNReductionColumnMaxNode class];
    case ImageReduction::ColumnSum:
      return [MPSNNReductionColumnSumNode class];
    case ImageReduction::ColumnMean:
      return [MPSNNReductionColumnMeanNode class];
    case ImageReduction::FeatureChannelsMin:
      return [MPSNNReductionFeatureChannelsMinNode class];
    case ImageReduction::FeatureChannelsMax:
      return [MPSNNReductionFeatureChannelsMaxNode class];
    case ImageReduction::FeatureChannelsSum:
      return [MPSNNReductionFeatureChannelsSumNode class];
    case ImageReduction::FeatureChannelsMean:
      return [MPSNNReductionFeatureChannelsMeanNode class];
    case ImageReduction::FeatureChannelsArgumentMin:
      return [MPSNNReductionFeatureChannelsArgumentMinNode class];
    case ImageReduction::FeatureChannelsArgumentMax:
      return [MPSNNReductionFeatureChannelsArgumentMaxNode class];
    case ImageReduction::SpatialMean:
      return [MPSNNReductionSpatialMeanNode class];
  }
  return Nil;
}

/// `sizes` are (channels, height, width).
MPSImageCoordinate coordinate(const nodes::PadNode::Sizes& sizes) {
  MPSImageCoordinate at;
  at.x = sizes[2];
  at.y = sizes[1];
  at.channel = sizes[0];
  return at;
}

}  // namespace

MPSNNFilterNode* make_node(const FilterSite& site, const ConcatenationFilter&) {
  return [MPSNNConcatenationNode nodeWithSources:site.images];
}

MPSNNFilterNode* make_node(const FilterSite& site,
                           const ReshapeFilter& filter) {
  const auto& size = filter.result_size;
  return [MPSNNReshapeNode nodeWithSource:site.image()
                              resultWidth:size.width
                             resultHeight:size.height
                    resultFeatureChannels:size.feature_channels];
}

MPSNNFilterNode* make_node(const FilterSite& site, const PadFilter& filter) {
  MPSNNPadNode* node = [MPSNNPadNode
         nodeWithSource:site.image()
      paddingSizeBefore:coordinate(filter.before)
       paddingSizeAfter:coordinate(filter.after)
               edgeMode:static_cast<MPSImageEdgeMode>(filter.edge_mode)];
  [node setFillValue:filter.fill_value];
  return node;
}

MPSNNFilterNode* make_node(const FilterSite& site,
                           const ReductionFilter& filter) {
  Class type = reduction_class(filter.reduction);
  MPSNNUnaryReductionNode* node = [type nodeWithSource:site.image()];
  if (filter.reduction == ImageReduction::FeatureChannelsSum) {
    [(MPSNNReductionFeatureChannelsSumNode*)node setWeight:filter.weight];
  }
  return node;
}

MPSNNFilterNode* make_node(const FilterSite& site,
                           const UpsamplingFilter& filter) {
  if (!filter.is_bilinear) {
    return [MPSCNNUpsamplingNearestNode nodeWithSource:site.image()
                                   integerScaleFactorX:filter.scale_x
                                   integerScaleFactorY:filter.scale_y];
  }
  return [MPSCNNUpsamplingBilinearNode nodeWithSource:site.image()
                                  integerScaleFactorX:filter.scale_x
                                  integerScaleFactorY:filter.scale_y
                                         alignCorners:filter.aligns_corners];
}

MPSNNFilterNode* make_node(const FilterSite& site, const BilinearScaleFilter&) {
  refuse_filter(site);
}

MPSNNFilterNode* make_node(const FilterSite& site,
                           const GramMatrixFilter& filter) {
  return [MPSNNGramMatrixCalculationNode nodeWithSource:site.image()
                                                  alpha:filter.alpha];
}

}  // namespace traingraph::metal
