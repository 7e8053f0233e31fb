// SPDX-License-Identifier: MIT
// MPSGraphTensor: a symbolic value. Its graph owns it.
#pragma once

#import <MetalPerformanceShadersGraph/MPSGraphCore.h>

NS_ASSUME_NONNULL_BEGIN

@class MPSGraphOperation;

@interface MPSGraphTensor : MPSGraphObject <NSCopying> {
  MPSShape* _shape;
  MPSDataType _dataType;
  MPSGraphOperation* _operation;  // not retained; nil when the graph died
  NSUInteger _valueIndex;
}
@property(nullable, readonly, copy, nonatomic) MPSShape* shape;
@property(readonly, nonatomic) MPSDataType dataType;
@property(readonly, nonatomic) MPSGraphOperation* operation;
@end

NS_ASSUME_NONNULL_END
