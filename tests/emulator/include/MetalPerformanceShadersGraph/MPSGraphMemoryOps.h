// SPDX-License-Identifier: MIT
// Placeholders and constants.
#pragma once

#import <MetalPerformanceShadersGraph/MPSGraph.h>

NS_ASSUME_NONNULL_BEGIN

@interface MPSGraph (MemoryOps)
- (MPSGraphTensor*)placeholderWithShape:(MPSShape* _Nullable)shape
                               dataType:(MPSDataType)dataType
                                   name:(NSString* _Nullable)name;
- (MPSGraphTensor*)placeholderWithShape:(MPSShape* _Nullable)shape
                                   name:(NSString* _Nullable)name;
- (MPSGraphTensor*)constantWithData:(NSData*)data
                              shape:(MPSShape*)shape
                           dataType:(MPSDataType)dataType;
- (MPSGraphTensor*)constantWithScalar:(double)scalar
                             dataType:(MPSDataType)dataType;
- (MPSGraphTensor*)constantWithScalar:(double)scalar
                                shape:(MPSShape*)shape
                             dataType:(MPSDataType)dataType;
@end

NS_ASSUME_NONNULL_END
