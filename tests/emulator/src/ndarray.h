// SPDX-License-Identifier: MIT
// What MPSGraphTensorData needs of MPSNDArray beyond Apple's interface.
#pragma once

#import "objects.h"

@interface MPSNDArray ()
/// Packed elements, visible to the host.
- (id<MTLBuffer>)storage;
- (MPSShape*)shape;
@end
