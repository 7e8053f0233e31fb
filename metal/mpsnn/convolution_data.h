// SPDX-License-Identifier: MIT
// TGConvolutionData: weights and biases of a convolution for MPSNN.
#pragma once

#include "graph/image_filter.h"
#import "metal/mpsnn/filter_data.h"

@interface TGConvolutionData : TGFilterData <MPSCNNConvolutionDataSource> {
  MPSCNNConvolutionDescriptor* _descriptor;
}
/// `parameters` outlive everything that MPSNN makes of this.
+ (instancetype)dataWithDescriptor:
                    (const traingraph::nodes::ConvolutionDescriptor&)descriptor
                        parameters:
                            (traingraph::metal::FilterParameters*)parameters;
@end
