// SPDX-License-Identifier: MIT
// Normalizations with statistics of the batch, of images or of groups.
#import "metal/mpsnn/filter_nodes.h"
#import "metal/mpsnn/normalization_data.h"

namespace traingraph::metal {
namespace {

MPSNNFilterNode* make_batch_node(const FilterSite& site,
                                 const NormalizationFilter& filter,
                                 TGNormalizationData* data) {
  MPSCNNBatchNormalizationNode* node =
      [MPSCNNBatchNormalizationNode nodeWithSource:site.image()
                                        dataSource:data];
  [node setFlags:filter.uses_batch_statistics
                     ? MPSCNNBatchNormalizationFlagsCalculateStatisticsAlways
                     : MPSCNNBatchNormalizationFlagsCalculateStatisticsNever];
  [node setTrainingStyle:site.training_style()];
  return node;
}

}  // namespace

MPSNNFilterNode* make_node(const FilterSite& site,
                           const NormalizationFilter& filter) {
  TGNormalizationData* data =
      [TGNormalizationData dataWithFilter:filter parameters:site.parameters];
  if (filter.kind == StatisticsOf::Batch) {
    return make_batch_node(site, filter, data);
  }
  if (filter.kind == StatisticsOf::Instance) {
    MPSCNNInstanceNormalizationNode* node =
        [MPSCNNInstanceNormalizationNode nodeWithSource:site.image()
                                             dataSource:data];
    [node setTrainingStyle:site.training_style()];
    return node;
  }
  MPSCNNGroupNormalizationNode* node =
      [MPSCNNGroupNormalizationNode nodeWithSource:site.image()
                                        dataSource:data];
  [node setTrainingStyle:site.training_style()];
  return node;
}

}  // namespace traingraph::metal
