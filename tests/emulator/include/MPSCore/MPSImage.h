// SPDX-License-Identifier: MIT

// MPSImage: pictures with any number of channels in the device's memory.
#pragma once

#import <MPSCore/MPSCoreTypes.h>

NS_ASSUME_NONNULL_BEGIN

@class MPSImage;
@class MPSKernel;

@interface MPSImageDescriptor : NSObject <NSCopying> {
  NSUInteger _width, _height, _featureChannels, _numberOfImages;
  MPSImageFeatureChannelFormat _channelFormat;
  MTLCPUCacheMode _cpuCacheMode;
  MTLStorageMode _storageMode;
  MTLTextureUsage _usage;
}
@property(readwrite, nonatomic) NSUInteger width, height, featureChannels,
    numberOfImages;
@property(readonly, nonatomic) MTLPixelFormat pixelFormat;
@property(readwrite, nonatomic) MPSImageFeatureChannelFormat channelFormat;
@property(readwrite, nonatomic) MTLCPUCacheMode cpuCacheMode;
@property(readwrite, nonatomic) MTLStorageMode storageMode;
@property(readwrite, nonatomic) MTLTextureUsage usage;

+ (instancetype)imageDescriptorWithChannelFormat:
                    (MPSImageFeatureChannelFormat)channelFormat
                                           width:(NSUInteger)width
                                          height:(NSUInteger)height
                                 featureChannels:(NSUInteger)featureChannels;
+ (instancetype)imageDescriptorWithChannelFormat:
                    (MPSImageFeatureChannelFormat)channelFormat
                                           width:(NSUInteger)width
                                          height:(NSUInteger)height
                                 featureChannels:(NSUInteger)featureChannels
                                  numberOfImages:(NSUInteger)numberOfImages
                                           usage:(MTLTextureUsage)usage;
@end

/// Images of one size.
typedef NSArray<MPSImage*> MPSImageBatch;

MTL_EXTERN NSUInteger MPSImageBatchIncrementReadCount(MPSImageBatch* batch,
                                                      NSInteger amount);
MTL_EXTERN void MPSImageBatchSynchronize(MPSImageBatch* batch,
                                         id<MTLCommandBuffer> cmdBuf);
MTL_EXTERN NSUInteger MPSImageBatchResourceSize(MPSImageBatch* batch);

@protocol MPSImageAllocator <NSObject, NSSecureCoding>
- (MPSImage*)imageForCommandBuffer:(id<MTLCommandBuffer>)cmdBuf
                   imageDescriptor:(MPSImageDescriptor*)descriptor
                            kernel:(MPSKernel*)kernel;
@optional
- (MPSImageBatch*)imageBatchForCommandBuffer:(id<MTLCommandBuffer>)cmdBuf
                             imageDescriptor:(MPSImageDescriptor*)descriptor
                                      kernel:(MPSKernel*)kernel
                                       count:(NSUInteger)count;
@end

typedef NS_ENUM(NSUInteger, MPSDataLayout) {
  MPSDataLayoutHeightxWidthxFeatureChannels = 0,
  MPSDataLayoutFeatureChannelsxHeightxWidth = 1,
};

typedef struct {
  NSUInteger featureChannelOffset, numberOfFeatureChannelsToReadWrite;
} MPSImageReadWriteParams;

@interface MPSImage : NSObject {
  void* _storage;
  id<MTLDevice> _device;
  MPSImageDescriptor* _descriptor;
  NSString* _label;
}
@property(readonly, retain, nonatomic) id<MTLDevice> device;
@property(readonly, nonatomic) NSUInteger width, height, featureChannels,
    numberOfImages;
@property(readonly, nonatomic) MTLPixelFormat pixelFormat;
@property(readonly, nonatomic) NSUInteger precision;
@property(readonly, nonatomic) MTLTextureUsage usage;
@property(readonly, nonatomic)
    MPSImageFeatureChannelFormat featureChannelFormat;
@property(readonly, nonatomic) size_t pixelSize;
@property(copy, atomic, nullable) NSString* label;

+ (id<MPSImageAllocator>)defaultAllocator;
- (instancetype)initWithDevice:(id<MTLDevice>)device
               imageDescriptor:(const MPSImageDescriptor*)imageDescriptor;
- (MPSImageBatch*)batchRepresentation;
- (NSUInteger)resourceSize;
- (void)readBytes:(void*)dataBytes
       dataLayout:(MPSDataLayout)dataLayout
       imageIndex:(NSUInteger)imageIndex;
- (void)writeBytes:(const void*)dataBytes
        dataLayout:(MPSDataLayout)dataLayout
        imageIndex:(NSUInteger)imageIndex;
- (void)readBytes:(void*)dataBytes
            dataLayout:(MPSDataLayout)dataLayout
           bytesPerRow:(NSUInteger)bytesPerRow
                region:(MTLRegion)region
    featureChannelInfo:(MPSImageReadWriteParams)featureChannelInfo
            imageIndex:(NSUInteger)imageIndex;
- (void)writeBytes:(const void*)dataBytes
            dataLayout:(MPSDataLayout)dataLayout
           bytesPerRow:(NSUInteger)bytesPerRow
                region:(MTLRegion)region
    featureChannelInfo:(MPSImageReadWriteParams)featureChannelInfo
            imageIndex:(NSUInteger)imageIndex;
- (void)synchronizeOnCommandBuffer:(id<MTLCommandBuffer>)commandBuffer;
@end

@interface MPSTemporaryImage : MPSImage {
  void* _commandBuffer;
  NSUInteger _readCount;
}
@property(readwrite, nonatomic) NSUInteger readCount;

+ (id<MPSImageAllocator>)defaultAllocator;
+ (instancetype)
    temporaryImageWithCommandBuffer:(id<MTLCommandBuffer>)commandBuffer
                    imageDescriptor:(const MPSImageDescriptor*)imageDescriptor;
+ (void)prefetchStorageWithCommandBuffer:(id<MTLCommandBuffer>)commandBuffer
                     imageDescriptorList:
                         (NSArray<MPSImageDescriptor*>*)descriptorList;
@end

NS_ASSUME_NONNULL_END
