// SPDX-License-Identifier: MIT
// Tensors in buffers and images, and the copies between them: a matrix with one
// row per image.
#pragma once

#include "metal/gpu_device.h"
#import "metal/objc_ptr.h"
#include "traingraph/types.h"

namespace traingraph::metal {

using ImageBatch = ObjcPtr<MPSImageBatch*>;

/// One image of float32 per sample of (samples, channels, height, width), which
/// stay.
ImageBatch make_images(const GpuDevice& device, const Shape& shape);

/// A tensor of images. `buffer` begins with it.
ObjcPtr<MPSMatrix*> matrix_of_images(id<MTLBuffer> buffer, const Shape& shape);

class ImageCopies {
 public:
  explicit ImageCopies(const GpuDevice& device);
  void to_images(MPSCommandBuffer* buffer, MPSMatrix* from,
                 MPSImageBatch* to) const;
  void to_matrix(MPSCommandBuffer* buffer, MPSImageBatch* from,
                 MPSMatrix* to) const;

 private:
  ObjcPtr<MPSMatrixCopyToImage*> to_images_;
  ObjcPtr<MPSImageCopyToMatrix*> to_matrix_;
};

}  // namespace traingraph::metal
