// SPDX-License-Identifier: MIT
#import "metal/mpsnn/image_copies.h"

namespace traingraph::metal {

ImageBatch make_images(const GpuDevice& device, const Shape& shape) {
  MPSImageDescriptor* descriptor = [MPSImageDescriptor
      imageDescriptorWithChannelFormat:MPSImageFeatureChannelFormatFloat32
                                 width:shape[3]
                                height:shape[2]
                       featureChannels:shape[1]];
  const auto images = adopt([[NSMutableArray alloc] initWithCapacity:shape[0]]);
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    const auto image = adopt([[MPSImage alloc] initWithDevice:device.metal.get()
                                              imageDescriptor:descriptor]);
    if (!image.get()) return {};
    [images.get() addObject:image.get()];
  }
  return adopt<MPSImageBatch*>([images.get() copy]);
}

ObjcPtr<MPSMatrix*> matrix_of_images(id<MTLBuffer> buffer, const Shape& shape) {
  const std::int64_t columns = shape[1] * shape[2] * shape[3];
  MPSMatrixDescriptor* descriptor =
      [MPSMatrixDescriptor matrixDescriptorWithRows:shape[0]
                                            columns:columns
                                           rowBytes:columns * sizeof(float)
                                           dataType:MPSDataTypeFloat32];
  return adopt([[MPSMatrix alloc] initWithBuffer:buffer descriptor:descriptor]);
}

ImageCopies::ImageCopies(const GpuDevice& device)
    : to_images_(adopt([[MPSMatrixCopyToImage alloc]
          initWithDevice:device.metal.get()
              dataLayout:MPSDataLayoutFeatureChannelsxHeightxWidth])),
      to_matrix_(adopt([[MPSImageCopyToMatrix alloc]
          initWithDevice:device.metal.get()
              dataLayout:MPSDataLayoutFeatureChannelsxHeightxWidth])) {}

void ImageCopies::to_images(MPSCommandBuffer* buffer, MPSMatrix* from,
                            MPSImageBatch* to) const {
  [to_images_.get() encodeBatchToCommandBuffer:buffer
                                  sourceMatrix:from
                             destinationImages:to];
}

void ImageCopies::to_matrix(MPSCommandBuffer* buffer, MPSImageBatch* from,
                            MPSMatrix* to) const {
  [to_matrix_.get() encodeBatchToCommandBuffer:buffer
                                  sourceImages:from
                             destinationMatrix:to];
}

}  // namespace traingraph::metal
