// SPDX-License-Identifier: MIT
// MPSGraphTensorData: a concrete value, in a buffer or an NDArray.
#pragma once

#import <MetalPerformanceShadersGraph/MPSGraphDevice.h>

NS_ASSUME_NONNULL_BEGIN

@interface MPSGraphTensorData : MPSGraphObject {
  MPSShape* _shape;
  MPSDataType _dataType;
  MPSGraphDevice* _device;
  id<MTLBuffer> _buffer;
  MPSNDArray* _ndarray;
  NSUInteger _rowBytes;
}
@property(readonly, copy, nonatomic) MPSShape* shape;
@property(readonly, nonatomic) MPSDataType dataType;
@property(readonly, nonatomic) MPSGraphDevice* device;

- (instancetype)initWithDevice:(MPSGraphDevice*)device
                          data:(NSData*)data
                         shape:(MPSShape*)shape
                      dataType:(MPSDataType)dataType;
- (instancetype)initWithMTLBuffer:(id<MTLBuffer>)buffer
                            shape:(MPSShape*)shape
                         dataType:(MPSDataType)dataType;
- (instancetype)initWithMTLBuffer:(id<MTLBuffer>)buffer
                            shape:(MPSShape*)shape
                         dataType:(MPSDataType)dataType
                         rowBytes:(NSUInteger)rowBytes;
- (instancetype)initWithMPSNDArray:(MPSNDArray*)ndarray;
- (MPSNDArray*)mpsndarray;
@end

NS_ASSUME_NONNULL_END
