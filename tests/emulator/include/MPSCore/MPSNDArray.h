// SPDX-License-Identifier: MIT
// MPSNDArray: a tensor in memory. Axes are counted from the fastest one.
#pragma once

#import <MPSCore/MPSCoreTypes.h>

NS_ASSUME_NONNULL_BEGIN

@interface MPSNDArrayDescriptor : NSObject {
  MPSDataType _dataType;
  MPSShape* _shape;
}
@property(readwrite, nonatomic) MPSDataType dataType;
@property(readonly, nonatomic) NSUInteger numberOfDimensions;

+ (instancetype)descriptorWithDataType:(MPSDataType)dataType
                                 shape:(MPSShape*)shape;
+ (instancetype)descriptorWithDataType:(MPSDataType)dataType
                        dimensionCount:(NSUInteger)numberOfDimensions
                        dimensionSizes:(NSUInteger*)dimensionSizes;
- (NSUInteger)lengthOfDimension:(NSUInteger)dimensionIndex;
- (void)transposeDimension:(NSUInteger)dimensionIndex
             withDimension:(NSUInteger)dimensionIndex2;
- (void)reshapeWithShape:(MPSShape*)shape;
@end

@interface MPSNDArray : NSObject {
  id<MTLDevice> _device;
  id<MTLBuffer> _storage;
  MPSDataType _dataType;
  MPSShape* _shape;
  NSString* _label;
}
@property(copy, atomic, nullable) NSString* label;
@property(readonly, nonatomic) MPSDataType dataType;
@property(readonly, nonatomic) size_t dataTypeSize;
@property(readonly, nonatomic) NSUInteger numberOfDimensions;
@property(readonly, retain, nonatomic) id<MTLDevice> device;

- (instancetype)initWithDevice:(id<MTLDevice>)device
                    descriptor:(MPSNDArrayDescriptor*)descriptor;
- (instancetype)initWithDevice:(id<MTLDevice>)device scalar:(double)value;
- (NSUInteger)lengthOfDimension:(NSUInteger)dimensionIndex;
- (MPSNDArrayDescriptor*)descriptor;
- (NSUInteger)resourceSize;
- (void)readBytes:(void*)buffer
      strideBytes:(NSInteger* _Nullable)strideBytesPerDimension;
- (void)writeBytes:(void*)buffer
       strideBytes:(NSInteger* _Nullable)strideBytesPerDimension;
- (void)synchronizeOnCommandBuffer:(id<MTLCommandBuffer>)commandBuffer;
- (void)exportDataWithCommandBuffer:(id<MTLCommandBuffer>)cmdBuf
                           toBuffer:(id<MTLBuffer>)buffer
                destinationDataType:(MPSDataType)destinationDataType
                             offset:(NSUInteger)offset
                         rowStrides:(NSInteger* _Nullable)rowStrides;
- (void)importDataWithCommandBuffer:(id<MTLCommandBuffer>)cmdBuf
                         fromBuffer:(id<MTLBuffer>)buffer
                     sourceDataType:(MPSDataType)sourceDataType
                             offset:(NSUInteger)offset
                         rowStrides:(NSInteger* _Nullable)rowStrides;
@end

NS_ASSUME_NONNULL_END
