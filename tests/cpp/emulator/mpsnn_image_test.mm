// SPDX-License-Identifier: MIT
// Images, temporary images, matrices and copies between them.
#include <cmath>
#include <numeric>

#include "emulator/control.h"
#import "mpsnn_support.h"

namespace {

using MpsnnImageTest = MpsnnTest;

std::vector<float> counted(int count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1);
  return values;
}

MPSImageDescriptor* descriptor(MPSImageFeatureChannelFormat format, Size size) {
  return [MPSImageDescriptor imageDescriptorWithChannelFormat:format
                                                        width:size.width
                                                       height:size.height
                                              featureChannels:size.channels];
}

TEST_F(MpsnnImageTest, BothLayoutsAreReadAndWritten) {
  MPSImage* made = image({3, 2, 2}, counted(12));
  EXPECT_EQ([made featureChannels], 3u);
  EXPECT_EQ([made pixelFormat], MTLPixelFormatRGBA32Float);
  std::vector<float> hwc(12);
  [made readBytes:hwc.data()
       dataLayout:MPSDataLayoutHeightxWidthxFeatureChannels
       imageIndex:0];
  EXPECT_EQ(hwc, (std::vector<float>{1, 5, 9, 2, 6, 10, 3, 7, 11, 4, 8, 12}));
  [made writeBytes:hwc.data()
        dataLayout:MPSDataLayoutHeightxWidthxFeatureChannels
        imageIndex:0];
  EXPECT_EQ(values(made), counted(12));
}

TEST_F(MpsnnImageTest, RegionsAndChannelsAreReadAlone) {
  MPSImage* made = image({8, 2, 3}, counted(48));
  std::vector<float> part(4);
  [made readBytes:part.data()
              dataLayout:MPSDataLayoutFeatureChannelsxHeightxWidth
             bytesPerRow:2 * sizeof(float)
                  region:MTLRegionMake2D(1, 1, 2, 1)
      featureChannelInfo:MPSImageReadWriteParams{4, 2}
              imageIndex:0];
  EXPECT_EQ(part, (std::vector<float>{29, 30, 35, 36}));
  EXPECT_NE(raised(^{
              std::vector<float> none(4);
              [made readBytes:none.data()
                          dataLayout:MPSDataLayoutFeatureChannelsxHeightxWidth
                         bytesPerRow:8
                              region:MTLRegionMake2D(2, 1, 2, 1)
                  featureChannelInfo:MPSImageReadWriteParams{4, 2}
                          imageIndex:0];
            }),
            "");
}

TEST_F(MpsnnImageTest, HalvesAreRounded) {
  auto* half = descriptor(MPSImageFeatureChannelFormatFloat16, {1, 1, 2});
  MPSImage* made = [[[MPSImage alloc] initWithDevice:device_
                                     imageDescriptor:half] autorelease];
  EXPECT_EQ([made pixelSize], 2u);
  EXPECT_EQ([made precision], 16u);
  const _Float16 data[] = {_Float16(0.1f), _Float16(2)};
  [made writeBytes:data
        dataLayout:MPSDataLayoutFeatureChannelsxHeightxWidth
        imageIndex:0];
  EXPECT_EQ(values(made)[0], float(_Float16(0.1f)));
}

TEST_F(MpsnnImageTest, ImpossibleImagesAreRefused) {
  const auto format = MPSImageFeatureChannelFormatFloat32;
  for (MPSImageDescriptor* bad :
       {descriptor(MPSImageFeatureChannelFormatNone, {1, 1, 1}),
        descriptor(format, {0, 1, 1}), descriptor(format, {1, 0, 1}),
        descriptor(format, {1, 1, 16385}), descriptor(format, {8193, 1, 1})}) {
    EXPECT_NE(raised(^{
                [[[MPSImage alloc] initWithDevice:device_
                                  imageDescriptor:bad] autorelease];
              }),
              "");
  }
  emulator::fail_allocation();
  EXPECT_NE(raised(^{
              image({1, 1, 1}, {1});
            }),
            "");
}

TEST_F(MpsnnImageTest, CopiesRunWhenTheCommandBufferDoes) {
  MPSImageBatch* sources = batch({2, 1, 2}, {{1, 2, 3, 4}, {5, 6, 7, 8}});
  id<MTLBuffer> storage = make_floats(std::vector<float>(15));
  auto* rows =
      [MPSMatrixDescriptor matrixDescriptorWithRows:3
                                            columns:4
                                           rowBytes:20
                                           dataType:MPSDataTypeFloat32];
  MPSMatrix* matrix = [[[MPSMatrix alloc] initWithBuffer:storage
                                              descriptor:rows] autorelease];
  auto* copy = [[[MPSImageCopyToMatrix alloc]
      initWithDevice:device_
          dataLayout:MPSDataLayoutHeightxWidthxFeatureChannels] autorelease];
  [copy setDestinationMatrixOrigin:MTLOriginMake(1, 0, 0)];
  id<MTLCommandBuffer> buffer = command_buffer();
  [copy encodeBatchToCommandBuffer:buffer
                      sourceImages:sources
                 destinationMatrix:matrix];
  // The host changes the image before the device reads it.
  const float changed[] = {9, 2, 3, 4};
  [[sources objectAtIndex:0]
      writeBytes:changed
      dataLayout:MPSDataLayoutFeatureChannelsxHeightxWidth
      imageIndex:0];
  EXPECT_EQ(floats(storage)[5], 0);
  [buffer commit];
  [buffer waitUntilCompleted];
  EXPECT_EQ(floats(storage),
            (std::vector<float>{0, 0, 0, 0, 0, 9, 3, 2, 4, 0, 5, 7, 6, 8, 0}));
}

TEST_F(MpsnnImageTest, MatricesBecomeImages) {
  id<MTLBuffer> storage = make_floats({0, 1, 2, 3, 4, 5, 6, 7, 8});
  auto* rows =
      [MPSMatrixDescriptor matrixDescriptorWithRows:2
                                            columns:4
                                           rowBytes:16
                                           dataType:MPSDataTypeFloat32];
  MPSMatrix* matrix = [[[MPSMatrix alloc] initWithBuffer:storage
                                                  offset:4
                                              descriptor:rows] autorelease];
  MPSImageBatch* images = batch({2, 1, 2}, {{0, 0, 0, 0}, {0, 0, 0, 0}});
  auto* copy = [[[MPSMatrixCopyToImage alloc]
      initWithDevice:device_
          dataLayout:MPSDataLayoutFeatureChannelsxHeightxWidth] autorelease];
  id<MTLCommandBuffer> buffer = command_buffer();
  [copy encodeBatchToCommandBuffer:buffer
                      sourceMatrix:matrix
                 destinationImages:images];
  EXPECT_NE(raised(^{
              [copy setSourceMatrixOrigin:MTLOriginMake(1, 0, 0)];
              [copy encodeBatchToCommandBuffer:buffer
                                  sourceMatrix:matrix
                             destinationImages:images];
            }),
            "");
  [buffer commit];
  [buffer waitUntilCompleted];
  EXPECT_EQ(values(images),
            (std::vector<std::vector<float>>{{1, 2, 3, 4}, {5, 6, 7, 8}}));
}

TEST_F(MpsnnImageTest, MatricesMustFitAndMatch) {
  id<MTLBuffer> storage = make_floats(std::vector<float>(8));
  auto matrix = [&](int rows, int columns, int row_bytes, MPSDataType type) {
    auto* described = [MPSMatrixDescriptor matrixDescriptorWithRows:rows
                                                            columns:columns
                                                           rowBytes:row_bytes
                                                           dataType:type];
    return [[[MPSMatrix alloc] initWithBuffer:storage
                                   descriptor:described] autorelease];
  };
  EXPECT_NE(raised(^{
              matrix(3, 4, 16, MPSDataTypeFloat32);
            }),
            "");
  EXPECT_NE(raised(^{
              matrix(2, 4, 12, MPSDataTypeFloat32);
            }),
            "");
  auto* copy = [[[MPSImageCopyToMatrix alloc]
      initWithDevice:device_
          dataLayout:MPSDataLayoutFeatureChannelsxHeightxWidth] autorelease];
  MPSImage* source = image({1, 1, 2}, {1, 2});
  EXPECT_NE(raised(^{
              [copy encodeToCommandBuffer:command_buffer()
                              sourceImage:source
                        destinationMatrix:matrix(1, 4, 8, MPSDataTypeFloat16)];
            }),
            "");
}

TEST_F(MpsnnImageTest, TemporaryImagesAreReadAsOftenAsPromised) {
  const auto format = MPSImageFeatureChannelFormatFloat32;
  id<MTLCommandBuffer> buffer = command_buffer();
  MPSTemporaryImage* temporary = [MPSTemporaryImage
      temporaryImageWithCommandBuffer:buffer
                      imageDescriptor:descriptor(format, {1, 1, 2})];
  id<MTLBuffer> storage = make_floats({3, 4, 0, 0, 0, 0});
  auto* row = [MPSMatrixDescriptor matrixDescriptorWithRows:3
                                                    columns:2
                                                   rowBytes:8
                                                   dataType:MPSDataTypeFloat32];
  MPSMatrix* matrix = [[[MPSMatrix alloc] initWithBuffer:storage
                                              descriptor:row] autorelease];
  const auto layout = MPSDataLayoutFeatureChannelsxHeightxWidth;
  auto* in = [[[MPSMatrixCopyToImage alloc] initWithDevice:device_
                                                dataLayout:layout] autorelease];
  auto* out =
      [[[MPSImageCopyToMatrix alloc] initWithDevice:device_
                                         dataLayout:layout] autorelease];
  EXPECT_EQ([temporary readCount], 1u);
  [temporary setReadCount:2];
  [in encodeToCommandBuffer:buffer
               sourceMatrix:matrix
           destinationImage:temporary];
  for (int row : {1, 2}) {
    [out setDestinationMatrixOrigin:MTLOriginMake(row, 0, 0)];
    [out encodeToCommandBuffer:buffer
                   sourceImage:temporary
             destinationMatrix:matrix];
  }
  EXPECT_EQ([temporary readCount], 0u);
  EXPECT_NE(raised(^{
              [out encodeToCommandBuffer:buffer
                             sourceImage:temporary
                       destinationMatrix:matrix];
            }),
            "");
  EXPECT_NE(raised(^{
              [temporary setReadCount:1];
            }),
            "");
  [buffer commit];
  [buffer waitUntilCompleted];
  EXPECT_EQ(floats(storage), (std::vector<float>{3, 4, 3, 4, 3, 4}));
}

TEST_F(MpsnnImageTest, TemporaryImagesBelongToOneCommandBufferAndNoHost) {
  const auto format = MPSImageFeatureChannelFormatFloat32;
  const auto layout = MPSDataLayoutFeatureChannelsxHeightxWidth;
  id<MTLCommandBuffer> buffer = command_buffer();
  MPSTemporaryImage* temporary = [MPSTemporaryImage
      temporaryImageWithCommandBuffer:buffer
                      imageDescriptor:descriptor(format, {1, 1, 2})];
  auto* row = [MPSMatrixDescriptor matrixDescriptorWithRows:1
                                                    columns:2
                                                   rowBytes:8
                                                   dataType:MPSDataTypeFloat32];
  MPSMatrix* matrix = [[[MPSMatrix alloc] initWithBuffer:make_floats({1, 2})
                                              descriptor:row] autorelease];
  auto* out =
      [[[MPSImageCopyToMatrix alloc] initWithDevice:device_
                                         dataLayout:layout] autorelease];
  EXPECT_NE(raised(^{
              float bytes[2];
              [temporary readBytes:bytes dataLayout:layout imageIndex:0];
            }),
            "");
  EXPECT_NE(raised(^{
              [out encodeToCommandBuffer:command_buffer()
                             sourceImage:temporary
                       destinationMatrix:matrix];
            }),
            "");
  [temporary setReadCount:0];
}

TEST_F(MpsnnImageTest, UnreadTemporaryImagesAreCounted) {
  const long before = emulator::counters().unread_temporaries;
  NSAutoreleasePool* pool = [NSAutoreleasePool new];
  const auto format = MPSImageFeatureChannelFormatFloat32;
  [MPSTemporaryImage
      temporaryImageWithCommandBuffer:command_buffer()
                      imageDescriptor:descriptor(format, {1, 1, 2})];
  [pool release];
  EXPECT_EQ(emulator::counters().unread_temporaries, before + 1);
}

TEST_F(MpsnnImageTest, DiscreteDevicesSynchroniseManagedImages) {
  emulator::set_has_unified_memory(false);
  MPSImage* source = image({1, 1, 1}, {5});
  MPSImage* target = image({1, 1, 1}, {0});
  const auto layout = MPSDataLayoutFeatureChannelsxHeightxWidth;
  id<MTLBuffer> storage = make_floats({0});
  auto* one = [MPSMatrixDescriptor matrixDescriptorWithRows:1
                                                    columns:1
                                                   rowBytes:4
                                                   dataType:MPSDataTypeFloat32];
  MPSMatrix* matrix = [[[MPSMatrix alloc] initWithBuffer:storage
                                              descriptor:one] autorelease];
  auto* in = [[[MPSMatrixCopyToImage alloc] initWithDevice:device_
                                                dataLayout:layout] autorelease];
  auto* out =
      [[[MPSImageCopyToMatrix alloc] initWithDevice:device_
                                         dataLayout:layout] autorelease];
  id<MTLCommandBuffer> buffer = command_buffer();
  [out encodeToCommandBuffer:buffer
                 sourceImage:source
           destinationMatrix:matrix];
  [in encodeToCommandBuffer:buffer sourceMatrix:matrix destinationImage:target];
  [buffer commit];
  [buffer waitUntilCompleted];
  EXPECT_EQ(values(target)[0], 0);
  buffer = command_buffer();
  MPSImageBatchSynchronize([target batchRepresentation], buffer);
  [buffer commit];
  [buffer waitUntilCompleted];
  EXPECT_EQ(values(target)[0], 5);
  emulator::set_has_unified_memory(true);
}

}  // namespace
