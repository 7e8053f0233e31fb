// SPDX-License-Identifier: MIT
// TGNormalizationData: parameters and statistics of a batch, instance or group
// normalization for MPSNN, which calls the methods of the one that it is.
#pragma once

#include "graph/image_filter.h"
#import "metal/mpsnn/filter_data.h"

@interface TGNormalizationData
    : TGFilterData <MPSCNNBatchNormalizationDataSource,
                    MPSCNNInstanceNormalizationDataSource,
                    MPSCNNGroupNormalizationDataSource> {
  NSUInteger _channels;
  NSUInteger _numberOfGroups;
  float _epsilon;
}
/// `parameters` outlive everything that MPSNN makes of this.
+ (instancetype)dataWithFilter:(const traingraph::NormalizationFilter&)filter
                    parameters:(traingraph::metal::FilterParameters*)parameters;
@end
