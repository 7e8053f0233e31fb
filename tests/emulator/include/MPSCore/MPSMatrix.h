// SPDX-License-Identifier: MIT

// MPSMatrix: rows of a buffer.
#pragma once

#import <MPSCore/MPSCoreTypes.h>

NS_ASSUME_NONNULL_BEGIN

@interface MPSMatrixDescriptor : NSObject {
  NSUInteger _rows, _columns, _matrices, _rowBytes, _matrixBytes;
  MPSDataType _dataType;
}
@property(readwrite, nonatomic) NSUInteger rows, columns;
@property(readonly, nonatomic) NSUInteger matrices;
@property(readwrite, nonatomic) MPSDataType dataType;
@property(readwrite, nonatomic) NSUInteger rowBytes;
@property(readonly, nonatomic) NSUInteger matrixBytes;

+ (instancetype)matrixDescriptorWithRows:(NSUInteger)rows
                                 columns:(NSUInteger)columns
                                rowBytes:(NSUInteger)rowBytes
                                dataType:(MPSDataType)dataType;
+ (instancetype)matrixDescriptorWithRows:(NSUInteger)rows
                                 columns:(NSUInteger)columns
                                matrices:(NSUInteger)matrices
                                rowBytes:(NSUInteger)rowBytes
                             matrixBytes:(NSUInteger)matrixBytes
                                dataType:(MPSDataType)dataType;
+ (size_t)rowBytesForColumns:(NSUInteger)columns dataType:(MPSDataType)dataType;
@end

@interface MPSMatrix : NSObject {
  id<MTLBuffer> _data;
  NSUInteger _rows, _columns, _matrices, _rowBytes, _matrixBytes, _offset;
  MPSDataType _dataType;
}
@property(readonly, retain, nonatomic) id<MTLDevice> device;
@property(readonly, nonatomic) NSUInteger rows, columns, matrices;
@property(readonly, nonatomic) MPSDataType dataType;
@property(readonly, nonatomic) NSUInteger rowBytes, matrixBytes, offset;
@property(readonly, nonatomic) id<MTLBuffer> data;

- (instancetype)initWithBuffer:(id<MTLBuffer>)buffer
                    descriptor:(MPSMatrixDescriptor*)descriptor;
- (instancetype)initWithBuffer:(id<MTLBuffer>)buffer
                        offset:(NSUInteger)offset
                    descriptor:(MPSMatrixDescriptor*)descriptor;
- (void)synchronizeOnCommandBuffer:(id<MTLCommandBuffer>)commandBuffer;
@end

NS_ASSUME_NONNULL_END
