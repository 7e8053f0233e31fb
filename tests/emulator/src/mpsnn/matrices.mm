// SPDX-License-Identifier: MIT
// MPSMatrix, and copies between matrices and images.
#include <cstring>

#include "element_types.h"
#import "images.h"
#import "objects.h"
#import "retained.h"

using emulator::refuse;
using emulator::Retained;

@implementation MPSMatrixDescriptor
@synthesize rows = _rows, columns = _columns, matrices = _matrices,
            dataType = _dataType, rowBytes = _rowBytes,
            matrixBytes = _matrixBytes;

+ (instancetype)matrixDescriptorWithRows:(NSUInteger)rows
                                 columns:(NSUInteger)columns
                                rowBytes:(NSUInteger)row_bytes
                                dataType:(MPSDataType)data_type {
  return [self matrixDescriptorWithRows:rows
                                columns:columns
                               matrices:1
                               rowBytes:row_bytes
                            matrixBytes:rows * row_bytes
                               dataType:data_type];
}

+ (instancetype)matrixDescriptorWithRows:(NSUInteger)rows
                                 columns:(NSUInteger)columns
                                matrices:(NSUInteger)matrices
                                rowBytes:(NSUInteger)row_bytes
                             matrixBytes:(NSUInteger)matrix_bytes
                                dataType:(MPSDataType)data_type {
  MPSMatrixDescriptor* descriptor = [[self new] autorelease];
  descriptor->_rows = rows;
  descriptor->_columns = columns;
  descriptor->_matrices = matrices;
  descriptor->_rowBytes = row_bytes;
  descriptor->_matrixBytes = matrix_bytes;
  descriptor->_dataType = data_type;
  return descriptor;
}

+ (size_t)rowBytesForColumns:(NSUInteger)columns
                    dataType:(MPSDataType)data_type {
  constexpr std::size_t kAlignment = 16;
  const std::size_t bytes = columns * emulator::element_size(data_type);
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
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
@end

@implementation MPSMatrix
@synthesize rows = _rows, columns = _columns, matrices = _matrices,
            dataType = _dataType, rowBytes = _rowBytes,
            matrixBytes = _matrixBytes, offset = _offset, data = _data;

- (instancetype)init {
  refuse("MPSMatrix", @"init is unavailable");
}

- (instancetype)initWithBuffer:(id<MTLBuffer>)buffer
                    descriptor:(MPSMatrixDescriptor*)descriptor {
  return [self initWithBuffer:buffer offset:0 descriptor:descriptor];
}

- (instancetype)initWithBuffer:(id<MTLBuffer>)buffer
                        offset:(NSUInteger)offset
                    descriptor:(MPSMatrixDescriptor*)descriptor {
  const char* what = "MPSMatrix";
  if (!buffer || !descriptor) refuse(what, @"buffer or descriptor is nil");
  const std::size_t size = emulator::element_size([descriptor dataType]);
  const std::size_t row_bytes = [descriptor rowBytes];
  if (size == 0 || [descriptor rows] == 0 || [descriptor columns] == 0 ||
      row_bytes < [descriptor columns] * size || row_bytes % size != 0 ||
      offset % size != 0) {
    refuse(what, @"%lu rows of %lu elements and %lu bytes at %lu",
           (unsigned long)[descriptor rows],
           (unsigned long)[descriptor columns], (unsigned long)row_bytes,
           (unsigned long)offset);
  }
  // The bytes after the elements of the last row are nobody's.
  const std::size_t needed =
      ([descriptor matrices] - 1) * [descriptor matrixBytes] +
      ([descriptor rows] - 1) * row_bytes + [descriptor columns] * size;
  if (offset + needed > [buffer length]) {
    refuse(what, @"%lu bytes at %lu exceed the buffer's %lu",
           (unsigned long)needed, (unsigned long)offset,
           (unsigned long)[buffer length]);
  }
  self = [super init];
  emulator::count_birth(self);
  _data = [(id)buffer retain];
  _offset = offset;
  _rows = [descriptor rows];
  _columns = [descriptor columns];
  _matrices = [descriptor matrices];
  _rowBytes = row_bytes;
  _matrixBytes = [descriptor matrixBytes];
  _dataType = [descriptor dataType];
  return self;
}

- (void)dealloc {
  emulator::count_death(self);
  [(id)_data release];
  [super dealloc];
}

- (id<MTLDevice>)device {
  return [_data device];
}

- (void)synchronizeOnCommandBuffer:(id<MTLCommandBuffer>)buffer {
  Retained<id<MTLBuffer>> kept(_data);
  emulator::record("synchronizeOnCommandBuffer", buffer, [kept] {
    emulator::synchronize_to_host(kept.get());
    return 0;
  });
}
@end

namespace emulator::mpsnn {
namespace {

struct Transfer {
  Retained<NSArray*> images;
  Retained<id<MTLBuffer>> buffer;
  MPSDataType data_type;
  std::size_t begin, row_bytes;
  MPSDataLayout layout;

  std::size_t place(const Extent& e, std::int64_t c, std::int64_t y,
                    std::int64_t x) const {
    return layout == MPSDataLayoutHeightxWidthxFeatureChannels
               ? (y * e.width + x) * e.channels + c
               : (c * e.height + y) * e.width + x;
  }

  template <class Visit>
  void for_each(const Extent& e, Visit visit) const {
    for (std::int64_t c = 0; c < e.channels; ++c) {
      for (std::int64_t y = 0; y < e.height; ++y) {
        for (std::int64_t x = 0; x < e.width; ++x) {
          visit(c, y, x, place(e, c, y, x));
        }
      }
    }
  }

  char* row(std::size_t image) const {
    return device_bytes(buffer.get()) + begin + image * row_bytes;
  }

  int to_matrix() const {
    for (NSUInteger i = 0; i < [images.get() count]; ++i) {
      const Picture picture = [[images.get() objectAtIndex:i] picture];
      std::vector<double> values(picture.extent.count());
      for_each(picture.extent, [&](auto c, auto y, auto x, auto at) {
        values[at] = picture.at(c, y, x);
      });
      emulator::encode(data_type, values.data(), values.size(), row(i));
    }
    return 0;
  }

  int to_images() const {
    for (NSUInteger i = 0; i < [images.get() count]; ++i) {
      MPSImage* image = [images.get() objectAtIndex:i];
      Picture picture(extent_of(image));
      std::vector<double> values(picture.extent.count());
      decode(data_type, row(i), values.size(), values.data());
      for_each(picture.extent, [&](auto c, auto y, auto x, auto at) {
        picture.at(c, y, x) = static_cast<float>(values[at]);
      });
      [image setPicture:picture];
    }
    return 0;
  }
};

MPSDataType data_type_of(MPSImage* image) {
  switch ([image featureChannelFormat]) {
    case MPSImageFeatureChannelFormatFloat16:
      return MPSDataTypeFloat16;
    case MPSImageFeatureChannelFormatFloat32:
      return MPSDataTypeFloat32;
    case MPSImageFeatureChannelFormatUnorm8:
      return MPSDataTypeUnorm8;
    default:
      return MPSDataTypeInvalid;
  }
}

Transfer make_transfer(const char* what, id<MTLCommandBuffer> buffer,
                       MPSImageBatch* images, MPSMatrix* matrix,
                       MTLOrigin origin, NSUInteger index,
                       MPSDataLayout layout) {
  require_batch(what, images);
  if (!matrix) refuse(what, @"the matrix is nil");
  MPSImage* first = [images objectAtIndex:0];
  if (data_type_of(first) != [matrix dataType] ||
      element_size([matrix dataType]) == 0) {
    refuse(what, @"element types of image and matrix differ");
  }
  const NSUInteger count = extent_of(first).count();
  if (origin.z != 0 || index >= [matrix matrices] ||
      origin.x + [images count] > [matrix rows] ||
      origin.y + count > [matrix columns]) {
    refuse(what, @"%lu images of %lu elements do not fit into %lu rows of %lu",
           (unsigned long)[images count], (unsigned long)count,
           (unsigned long)[matrix rows], (unsigned long)[matrix columns]);
  }
  for (MPSImage* image in images) [image require:what usableOn:buffer];
  const std::size_t size = element_size([matrix dataType]);
  const std::size_t begin = [matrix offset] + index * [matrix matrixBytes] +
                            origin.x * [matrix rowBytes] + origin.y * size;
  return {Retained<NSArray*>([[images copy] autorelease]),
          Retained<id<MTLBuffer>>([matrix data]),
          [matrix dataType],
          begin,
          [matrix rowBytes],
          layout};
}

}  // namespace
}  // namespace emulator::mpsnn

@implementation MPSImageCopyToMatrix
@synthesize destinationMatrixOrigin = _destinationMatrixOrigin,
            destinationMatrixBatchIndex = _destinationMatrixBatchIndex,
            dataLayout = _dataLayout;

- (instancetype)initWithDevice:(id<MTLDevice>)device
                    dataLayout:(MPSDataLayout)layout {
  self = [super initWithDevice:device];
  _dataLayout = layout;
  return self;
}

- (void)encodeToCommandBuffer:(id<MTLCommandBuffer>)buffer
                  sourceImage:(MPSImage*)image
            destinationMatrix:(MPSMatrix*)matrix {
  if (!image) refuse("MPSImageCopyToMatrix", @"the image is nil");
  [self encodeBatchToCommandBuffer:buffer
                      sourceImages:[NSArray arrayWithObject:image]
                 destinationMatrix:matrix];
}

- (void)encodeBatchToCommandBuffer:(id<MTLCommandBuffer>)buffer
                      sourceImages:(MPSImageBatch*)images
                 destinationMatrix:(MPSMatrix*)matrix {
  const char* what = "MPSImageCopyToMatrix";
  auto transfer = emulator::mpsnn::make_transfer(
      what, buffer, images, matrix, _destinationMatrixOrigin,
      _destinationMatrixBatchIndex, _dataLayout);
  emulator::record(what, buffer, [transfer] { return transfer.to_matrix(); });
  for (MPSImage* image in images) [image countRead];
}
@end

@implementation MPSMatrixCopyToImage
@synthesize sourceMatrixOrigin = _sourceMatrixOrigin,
            sourceMatrixBatchIndex = _sourceMatrixBatchIndex,
            dataLayout = _dataLayout;

- (instancetype)initWithDevice:(id<MTLDevice>)device
                    dataLayout:(MPSDataLayout)layout {
  self = [super initWithDevice:device];
  _dataLayout = layout;
  return self;
}

- (void)encodeToCommandBuffer:(id<MTLCommandBuffer>)buffer
                 sourceMatrix:(MPSMatrix*)matrix
             destinationImage:(MPSImage*)image {
  if (!image) refuse("MPSMatrixCopyToImage", @"the image is nil");
  [self encodeBatchToCommandBuffer:buffer
                      sourceMatrix:matrix
                 destinationImages:[NSArray arrayWithObject:image]];
}

- (void)encodeBatchToCommandBuffer:(id<MTLCommandBuffer>)buffer
                      sourceMatrix:(MPSMatrix*)matrix
                 destinationImages:(MPSImageBatch*)images {
  const char* what = "MPSMatrixCopyToImage";
  auto transfer = emulator::mpsnn::make_transfer(
      what, buffer, images, matrix, _sourceMatrixOrigin,
      _sourceMatrixBatchIndex, _dataLayout);
  emulator::record(what, buffer, [transfer] { return transfer.to_images(); });
}
@end
