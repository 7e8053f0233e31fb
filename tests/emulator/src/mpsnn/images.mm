// SPDX-License-Identifier: MIT
// MPSImage.
#import "images.h"

#include <sstream>

#import "retained.h"

using emulator::refuse;
using emulator::mpsnn::ImageMemory;

namespace emulator::mpsnn {

std::string to_string(const Extent& extent) {
  std::ostringstream text;
  text << extent.channels << " x " << extent.height << " x " << extent.width;
  return text.str();
}

void refuse_filter(const char* what, const std::string& why) {
  refuse(what, @"%@", to_ns(why));
}

Extent extent_of(MPSImage* image) {
  return {std::int64_t([image featureChannels]), std::int64_t([image height]),
          std::int64_t([image width])};
}

Extent extent_of(MPSImageDescriptor* descriptor) {
  return {std::int64_t([descriptor featureChannels]),
          std::int64_t([descriptor height]), std::int64_t([descriptor width])};
}

void set_extent(MPSImageDescriptor* descriptor, const Extent& extent) {
  [descriptor setFeatureChannels:extent.channels];
  [descriptor setHeight:extent.height];
  [descriptor setWidth:extent.width];
}

void require_batch(const char* what, MPSImageBatch* batch) {
  if ([batch count] == 0) refuse(what, @"a batch without images");
  MPSImage* first = [batch objectAtIndex:0];
  for (MPSImage* image in batch) {
    if (![image isKindOfClass:[MPSImage class]]) {
      refuse(what, @"%@ is no MPSImage", image);
    }
    if ([image numberOfImages] != 1) {
      refuse(what, @"an image of a batch has numberOfImages %lu",
             (unsigned long)[image numberOfImages]);
    }
    if (extent_of(image) == extent_of(first) &&
        [image featureChannelFormat] == [first featureChannelFormat]) {
      continue;
    }
    refuse(what, @"images of one batch differ: %@ and %@",
           to_ns(to_string(extent_of(first))),
           to_ns(to_string(extent_of(image))));
  }
}

}  // namespace emulator::mpsnn

@implementation MPSImage
@synthesize device = _device, label = _label;

+ (id<MPSImageAllocator>)defaultAllocator {
  return [EmulatedImageAllocator allocatorOfTemporary:NO];
}

- (instancetype)init {
  refuse("MPSImage", @"init is unavailable");
}

- (instancetype)initWithDevice:(id<MTLDevice>)device
               imageDescriptor:(const MPSImageDescriptor*)descriptor {
  if (!device || !descriptor)
    refuse("MPSImage", @"device or descriptor is nil");
  auto memory = std::make_unique<ImageMemory>((MPSImageDescriptor*)descriptor);
  self = [super init];
  emulator::count_birth(self);
  _device = [device retain];
  _descriptor = [(MPSImageDescriptor*)descriptor copy];
  _storage = memory.release();
  return self;
}

- (void)dealloc {
  emulator::count_death(self);
  delete static_cast<ImageMemory*>(_storage);
  [_descriptor release];
  [_device release];
  [_label release];
  [super dealloc];
}

- (ImageMemory&)memory {
  return *static_cast<ImageMemory*>(_storage);
}
- (MPSImageDescriptor*)descriptor {
  return _descriptor;
}
- (NSUInteger)width {
  return [_descriptor width];
}
- (NSUInteger)height {
  return [_descriptor height];
}
- (NSUInteger)featureChannels {
  return [_descriptor featureChannels];
}
- (NSUInteger)numberOfImages {
  return [_descriptor numberOfImages];
}
- (MPSImageFeatureChannelFormat)featureChannelFormat {
  return [_descriptor channelFormat];
}
- (MTLPixelFormat)pixelFormat {
  return [_descriptor pixelFormat];
}
- (MTLTextureUsage)usage {
  return [_descriptor usage];
}
- (NSUInteger)precision {
  return [self memory].precision();
}
- (size_t)pixelSize {
  return [self memory].pixel_bytes();
}
- (NSUInteger)resourceSize {
  return [self memory].num_bytes();
}

- (MPSImageBatch*)batchRepresentation {
  if ([self numberOfImages] != 1) {
    refuse("batchRepresentation", @"of image arrays is not emulated");
  }
  return [NSArray arrayWithObject:self];
}

- (void)require:(const char*)what usableOn:(id<MTLCommandBuffer>)buffer {
  (void)what, (void)buffer;
}
- (void)countRead {
}

- (emulator::mpsnn::Picture)picture {
  emulator::mpsnn::Picture picture(emulator::mpsnn::extent_of(self));
  const std::vector<double> values = [self elements];
  const auto& e = picture.extent;
  std::size_t i = 0;
  for (std::int64_t y = 0; y < e.height; ++y) {
    for (std::int64_t x = 0; x < e.width; ++x) {
      for (std::int64_t c = 0; c < e.channels; ++c) {
        picture.at(c, y, x) = static_cast<float>(values[i++]);
      }
    }
  }
  return picture;
}

- (void)setPicture:(const emulator::mpsnn::Picture&)picture {
  const auto& e = picture.extent;
  std::vector<double> values;
  values.reserve(e.count());
  for (std::int64_t y = 0; y < e.height; ++y) {
    for (std::int64_t x = 0; x < e.width; ++x) {
      for (std::int64_t c = 0; c < e.channels; ++c) {
        values.push_back(picture.at(c, y, x));
      }
    }
  }
  [self memory].store(values);
}

- (std::vector<double>)elements {
  return [self memory].load();
}

- (void)requireHostAccess:(const char*)what index:(NSUInteger)index {
  if ([_descriptor storageMode] == MTLStorageModePrivate) {
    refuse(what, @"the image's storage is private");
  }
  if (index >= [self numberOfImages]) {
    refuse(what, @"image %lu of %lu", (unsigned long)index,
           (unsigned long)[self numberOfImages]);
  }
}

- (void)readBytes:(void*)bytes
       dataLayout:(MPSDataLayout)layout
       imageIndex:(NSUInteger)index {
  [self requireHostAccess:"readBytes" index:index];
  [self memory].copy({static_cast<char*>(bytes), layout, index}, false);
}

- (void)writeBytes:(const void*)bytes
        dataLayout:(MPSDataLayout)layout
        imageIndex:(NSUInteger)index {
  [self requireHostAccess:"writeBytes" index:index];
  char* source = static_cast<char*>(const_cast<void*>(bytes));
  [self memory].copy({source, layout, index}, true);
}

- (void)readBytes:(void*)bytes
            dataLayout:(MPSDataLayout)layout
           bytesPerRow:(NSUInteger)bytes_per_row
                region:(MTLRegion)region
    featureChannelInfo:(MPSImageReadWriteParams)channels
            imageIndex:(NSUInteger)index {
  [self requireHostAccess:"readBytes" index:index];
  [self memory].copy({static_cast<char*>(bytes), layout, index, bytes_per_row,
                      true, region, channels},
                     false);
}

- (void)writeBytes:(const void*)bytes
            dataLayout:(MPSDataLayout)layout
           bytesPerRow:(NSUInteger)bytes_per_row
                region:(MTLRegion)region
    featureChannelInfo:(MPSImageReadWriteParams)channels
            imageIndex:(NSUInteger)index {
  [self requireHostAccess:"writeBytes" index:index];
  char* source = static_cast<char*>(const_cast<void*>(bytes));
  [self memory].copy(
      {source, layout, index, bytes_per_row, true, region, channels}, true);
}

- (void)synchronizeOnCommandBuffer:(id<MTLCommandBuffer>)buffer {
  emulator::Retained<MPSImage*> kept(self);
  emulator::record("synchronizeOnCommandBuffer", buffer, [kept] {
    [kept.get() memory].synchronize();
    return 0;
  });
}
@end
