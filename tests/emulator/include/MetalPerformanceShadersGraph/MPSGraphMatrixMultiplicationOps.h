// SPDX-License-Identifier: MIT
// Matrix multiplication over the last two dimensions.
#pragma once

#import <MetalPerformanceShadersGraph/MPSGraph.h>

@interface MPSGraph (MPSGraphMatrixMultiplicationOps)
- (MPSGraphTensor*)
    matrixMultiplicationWithPrimaryTensor:(MPSGraphTensor*)primaryTensor
                          secondaryTensor:(MPSGraphTensor*)secondaryTensor
                                     name:(NSString*)name;
@end
