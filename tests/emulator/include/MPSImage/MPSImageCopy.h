// SPDX-License-Identifier: MIT

// Copies between images and matrices: one image is one row.
#pragma once

#import <MPSCore/MPSCore.h>

NS_ASSUME_NONNULL_BEGIN

@interface MPSImageCopyToMatrix : MPSKernel {
  MTLOrigin _destinationMatrixOrigin;
  NSUInteger _destinationMatrixBatchIndex;
  MPSDataLayout _dataLayout;
}
/// x counts rows, y columns.
@property(readwrite, nonatomic) MTLOrigin destinationMatrixOrigin;
@property(readwrite, nonatomic) NSUInteger destinationMatrixBatchIndex;
@property(readonly, nonatomic) MPSDataLayout dataLayout;

- (instancetype)initWithDevice:(id<MTLDevice>)device
                    dataLayout:(MPSDataLayout)dataLayout;
- (void)encodeToCommandBuffer:(id<MTLCommandBuffer>)commandBuffer
                  sourceImage:(MPSImage*)sourceImage
            destinationMatrix:(MPSMatrix*)destinationMatrix;
- (void)encodeBatchToCommandBuffer:(id<MTLCommandBuffer>)commandBuffer
                      sourceImages:(MPSImageBatch*)sourceImages
                 destinationMatrix:(MPSMatrix*)destinationMatrix;
@end

@interface MPSMatrixCopyToImage : MPSKernel {
  MTLOrigin _sourceMatrixOrigin;
  NSUInteger _sourceMatrixBatchIndex;
  MPSDataLayout _dataLayout;
}
@property(readwrite, nonatomic) MTLOrigin sourceMatrixOrigin;
@property(readwrite, nonatomic) NSUInteger sourceMatrixBatchIndex;
@property(readonly, nonatomic) MPSDataLayout dataLayout;

- (instancetype)initWithDevice:(id<MTLDevice>)device
                    dataLayout:(MPSDataLayout)dataLayout;
- (void)encodeToCommandBuffer:(id<MTLCommandBuffer>)commandBuffer
                 sourceMatrix:(MPSMatrix*)sourceMatrix
             destinationImage:(MPSImage*)destinationImage;
- (void)encodeBatchToCommandBuffer:(id<MTLCommandBuffer>)commandBuffer
                      sourceMatrix:(MPSMatrix*)sourceMatrix
                 destinationImages:(MPSImageBatch*)destinationImages;
@end

NS_ASSUME_NONNULL_END
