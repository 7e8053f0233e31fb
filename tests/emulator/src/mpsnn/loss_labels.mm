// SPDX-License-Identifier: MIT
// MPSCNNLossDescriptor, MPSCNNLossDataDescriptor and MPSCNNLossLabels.
#import <MPSNeuralNetwork/MPSCNNLoss.h>

#include <cstring>
#include <vector>

#import "images.h"
#import "loss_kernels.h"
#import "states.h"

using emulator::refuse;

@interface MPSCNNLossDataDescriptor ()
- (instancetype)initWithData:(NSData*)data
                      layout:(MPSDataLayout)layout
                        size:(MTLSize)size;
- (NSData*)data;
@end

@implementation MPSCNNLossDescriptor
@synthesize lossType = _lossType, reductionType = _reductionType,
            reduceAcrossBatch = _reduceAcrossBatch, weight = _weight,
            labelSmoothing = _labelSmoothing,
            numberOfClasses = _numberOfClasses, epsilon = _epsilon,
            delta = _delta;

- (instancetype)init {
  refuse("MPSCNNLossDescriptor", @"init is unavailable");
}

- (instancetype)initWithType:(MPSCNNLossType)type
                   reduction:(MPSCNNReductionType)reduction {
  if (type >= MPSCNNLossTypeCount) {
    refuse("MPSCNNLossDescriptor", @"no loss has type %u", type);
  }
  if (reduction < 0 || reduction >= MPSCNNReductionTypeCount) {
    refuse("MPSCNNLossDescriptor", @"no reduction has type %d", reduction);
  }
  self = [super init];
  emulator::count_birth(self);
  _lossType = type;
  _reductionType = reduction;
  _weight = 1;
  _numberOfClasses = 1;
  _epsilon = 1e-7f;
  _delta = 1;
  return self;
}

- (void)dealloc {
  emulator::count_death(self);
  [super dealloc];
}

+ (MPSCNNLossDescriptor*)cnnLossDescriptorWithType:(MPSCNNLossType)type
                                     reductionType:
                                         (MPSCNNReductionType)reduction {
  return [[[self alloc] initWithType:type reduction:reduction] autorelease];
}

- (id)copyWithZone:(NSZone*)zone {
  MPSCNNLossDescriptor* copy =
      [[[self class] allocWithZone:zone] initWithType:_lossType
                                            reduction:_reductionType];
  [copy setReduceAcrossBatch:_reduceAcrossBatch];
  [copy setWeight:_weight];
  [copy setLabelSmoothing:_labelSmoothing];
  [copy setNumberOfClasses:_numberOfClasses];
  [copy setEpsilon:_epsilon];
  [copy setDelta:_delta];
  return copy;
}
@end

@implementation MPSCNNLossDataDescriptor
@synthesize layout = _layout, size = _size, bytesPerRow = _bytesPerRow,
            bytesPerImage = _bytesPerImage;

+ (MPSCNNLossDataDescriptor*)cnnLossDataDescriptorWithData:(NSData*)data
                                                    layout:(MPSDataLayout)layout
                                                      size:(MTLSize)size {
  const NSUInteger count = size.width * size.height * size.depth;
  if (count == 0 || [data length] < count * sizeof(float)) return nil;
  return [[[self alloc] initWithData:data layout:layout size:size] autorelease];
}

- (instancetype)init {
  refuse("MPSCNNLossDataDescriptor", @"init is unavailable");
}

- (instancetype)initWithData:(NSData*)data
                      layout:(MPSDataLayout)layout
                        size:(MTLSize)size {
  self = [super init];
  emulator::count_birth(self);
  _data = [data retain];
  _layout = layout;
  _size = size;
  const bool has_channels_inside =
      layout == MPSDataLayoutHeightxWidthxFeatureChannels;
  _bytesPerRow =
      size.width * sizeof(float) * (has_channels_inside ? size.depth : 1);
  _bytesPerImage = _bytesPerRow * size.height;
  return self;
}

- (void)dealloc {
  emulator::count_death(self);
  [_data release];
  [super dealloc];
}

- (NSData*)data {
  return _data;
}

- (id)copyWithZone:(NSZone*)zone {
  MPSCNNLossDataDescriptor* copy =
      [[[self class] allocWithZone:zone] initWithData:_data
                                               layout:_layout
                                                 size:_size];
  [copy setBytesPerRow:_bytesPerRow];
  [copy setBytesPerImage:_bytesPerImage];
  return copy;
}
@end

namespace emulator::mpsnn {
namespace {

MPSImage* make_image(id<MTLDevice> device, const MTLSize& size) {
  return [[MPSImage alloc]
       initWithDevice:device
      imageDescriptor:[MPSImageDescriptor
                          imageDescriptorWithChannelFormat:
                              MPSImageFeatureChannelFormatFloat32
                                                     width:size.width
                                                    height:size.height
                                           featureChannels:size.depth]];
}

/// Where the rows and images of the data are, in order of channels, rows,
/// columns.
std::vector<float> gather(MPSCNNLossDataDescriptor* d) {
  const auto* bytes = static_cast<const char*>([[d data] bytes]);
  const MTLSize size = [d size];
  const bool has_channels_inside =
      [d layout] == MPSDataLayoutHeightxWidthxFeatureChannels;
  std::vector<float> values;
  for (NSUInteger c = 0; c < size.depth; ++c) {
    for (NSUInteger y = 0; y < size.height; ++y) {
      for (NSUInteger x = 0; x < size.width; ++x) {
        NSUInteger offset = y * [d bytesPerRow];
        offset += has_channels_inside
                      ? (x * size.depth + c) * sizeof(float)
                      : c * [d bytesPerImage] + x * sizeof(float);
        if (offset + sizeof(float) > [[d data] length]) {
          refuse("MPSCNNLossDataDescriptor", @"the data is too short");
        }
        float value = 0;
        std::memcpy(&value, bytes + offset, sizeof(float));
        values.push_back(value);
      }
    }
  }
  return values;
}

MPSImage* make_image(id<MTLDevice> device, MPSCNNLossDataDescriptor* d) {
  if (!d) return nil;
  MPSImage* image = make_image(device, [d size]);
  const std::vector<float> values = gather(d);
  [image writeBytes:values.data()
         dataLayout:MPSDataLayoutFeatureChannelsxHeightxWidth
         imageIndex:0];
  return image;
}

}  // namespace
}  // namespace emulator::mpsnn

@implementation MPSCNNLossLabels
- (instancetype)initWithDevice:(id<MTLDevice>)device
              labelsDescriptor:(MPSCNNLossDataDescriptor*)labels {
  return [self initWithDevice:device
                lossImageSize:MTLSizeMake(1, 1, 1)
             labelsDescriptor:labels
            weightsDescriptor:nil];
}

- (instancetype)initWithDevice:(id<MTLDevice>)device
                 lossImageSize:(MTLSize)size
              labelsDescriptor:(MPSCNNLossDataDescriptor*)labels
             weightsDescriptor:(MPSCNNLossDataDescriptor*)weights {
  using emulator::mpsnn::make_image;
  if (!device || !labels) {
    refuse("MPSCNNLossLabels", @"device or labels are nil");
  }
  return [self initWithDevice:device
                lossImageSize:size
                  labelsImage:[make_image(device, labels) autorelease]
                 weightsImage:[make_image(device, weights) autorelease]];
}

- (instancetype)initWithDevice:(id<MTLDevice>)device
                 lossImageSize:(MTLSize)size
                   labelsImage:(MPSImage*)labels
                  weightsImage:(MPSImage*)weights {
  if (!device || !labels) {
    refuse("MPSCNNLossLabels", @"device or labels are nil");
  }
  MPSImage* loss = emulator::mpsnn::make_image(device, size);
  self =
      [super initWithFilterState:std::make_shared<emulator::mpsnn::LossLabels>(
                                     loss, labels, weights)
                   commandBuffer:nil];
  _lossImage = loss;
  _labelsImage = [labels retain];
  _weightsImage = [weights retain];
  return self;
}

- (void)dealloc {
  [_lossImage release];
  [_labelsImage release];
  [_weightsImage release];
  [super dealloc];
}

- (MPSImage*)lossImage {
  return _lossImage;
}
- (MPSImage*)labelsImage {
  return _labelsImage;
}
/// Nil without weights.
- (MPSImage*)weightsImage {
  return _weightsImage;
}

- (void)synchronizeOnCommandBuffer:(id<MTLCommandBuffer>)buffer {
  [_lossImage synchronizeOnCommandBuffer:buffer];
  [_labelsImage synchronizeOnCommandBuffer:buffer];
  [_weightsImage synchronizeOnCommandBuffer:buffer];
}
@end
