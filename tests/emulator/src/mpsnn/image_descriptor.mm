// SPDX-License-Identifier: MIT
// MPSImageDescriptor and the two allocators.
#import "image_format.h"
#import "images.h"

@implementation MPSImageDescriptor
@synthesize width = _width, height = _height,
            featureChannels = _featureChannels,
            numberOfImages = _numberOfImages, channelFormat = _channelFormat,
            cpuCacheMode = _cpuCacheMode, storageMode = _storageMode,
            usage = _usage;

+ (instancetype)imageDescriptorWithChannelFormat:
                    (MPSImageFeatureChannelFormat)format
                                           width:(NSUInteger)width
                                          height:(NSUInteger)height
                                 featureChannels:(NSUInteger)channels {
  return [self imageDescriptorWithChannelFormat:format
                                          width:width
                                         height:height
                                featureChannels:channels
                                 numberOfImages:1
                                          usage:MTLTextureUsageShaderRead |
                                                MTLTextureUsageShaderWrite];
}

+ (instancetype)imageDescriptorWithChannelFormat:
                    (MPSImageFeatureChannelFormat)format
                                           width:(NSUInteger)width
                                          height:(NSUInteger)height
                                 featureChannels:(NSUInteger)channels
                                  numberOfImages:(NSUInteger)count
                                           usage:(MTLTextureUsage)usage {
  MPSImageDescriptor* descriptor = [[self new] autorelease];
  descriptor->_channelFormat = format;
  descriptor->_width = width;
  descriptor->_height = height;
  descriptor->_featureChannels = channels;
  descriptor->_numberOfImages = count;
  descriptor->_usage = usage;
  descriptor->_storageMode = MTLStorageModeManaged;
  return descriptor;
}

- (instancetype)init {
  self = [super init];
  emulator::count_birth(self);
  return self;
}

- (void)dealloc {
  emulator::count_death(self);
  [super dealloc];
}

- (id)copyWithZone:(NSZone*)zone {
  MPSImageDescriptor* copy = [[[self class] allocWithZone:zone] init];
  copy->_channelFormat = _channelFormat;
  copy->_width = _width;
  copy->_height = _height;
  copy->_featureChannels = _featureChannels;
  copy->_numberOfImages = _numberOfImages;
  copy->_usage = _usage;
  copy->_cpuCacheMode = _cpuCacheMode;
  copy->_storageMode = _storageMode;
  return copy;
}

- (MTLPixelFormat)pixelFormat {
  return emulator::mpsnn::pixel_format(_channelFormat, _featureChannels);
}
@end

@implementation EmulatedImageAllocator
/// Both live for ever.
+ (instancetype)allocatorOfTemporary:(BOOL)is_temporary {
  static EmulatedImageAllocator* const both[] = {[EmulatedImageAllocator new],
                                                 [EmulatedImageAllocator new]};
  both[1]->_isTemporary = YES;
  return both[is_temporary];
}

- (MPSImage*)imageForCommandBuffer:(id<MTLCommandBuffer>)buffer
                   imageDescriptor:(MPSImageDescriptor*)descriptor
                            kernel:(MPSKernel*)kernel {
  (void)kernel;
  if (_isTemporary) {
    return [MPSTemporaryImage temporaryImageWithCommandBuffer:buffer
                                              imageDescriptor:descriptor];
  }
  return [[[MPSImage alloc] initWithDevice:[buffer device]
                           imageDescriptor:descriptor] autorelease];
}

- (MPSImageBatch*)imageBatchForCommandBuffer:(id<MTLCommandBuffer>)buffer
                             imageDescriptor:(MPSImageDescriptor*)descriptor
                                      kernel:(MPSKernel*)kernel
                                       count:(NSUInteger)count {
  NSMutableArray* batch = [NSMutableArray array];
  for (NSUInteger i = 0; i < count; ++i) {
    [batch addObject:[self imageForCommandBuffer:buffer
                                 imageDescriptor:descriptor
                                          kernel:kernel]];
  }
  return batch;
}

+ (BOOL)supportsSecureCoding {
  return YES;
}
- (void)encodeWithCoder:(NSCoder*)coder {
  [coder encodeObject:[NSNumber numberWithBool:_isTemporary]
               forKey:@"isTemporary"];
}
- (instancetype)initWithCoder:(NSCoder*)coder {
  [self release];
  const BOOL is_temporary =
      [[coder decodeObjectForKey:@"isTemporary"] boolValue];
  return [[EmulatedImageAllocator allocatorOfTemporary:is_temporary] retain];
}
@end
