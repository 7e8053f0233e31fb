// SPDX-License-Identifier: MIT
#import "tensor_data.h"

#include <cstring>

#include "element_types.h"
#import "ndarray.h"
#import "objects.h"

using emulator::refuse;

@interface MPSGraphTensorData ()
- (emulator::TensorRegion)region;
@end

@implementation MPSGraphTensorData
@synthesize shape = _shape, dataType = _dataType, device = _device;

- (instancetype)initWithDevice:(MPSGraphDevice*)device
                          data:(NSData*)data
                         shape:(MPSShape*)shape
                      dataType:(MPSDataType)data_type {
  const char* what = "MPSGraphTensorData initWithDevice";
  if (!device || !data || !shape) refuse(what, @"an argument is nil");
  const emulator::Type type{data_type, emulator::dims_of(shape)};
  emulator::require_type(what, type);
  if ([data length] != emulator::byte_size(type)) {
    refuse(what, @"%lu bytes of data for %@", (unsigned long)[data length],
           emulator::describe(type));
  }
  MPSNDArray* array = [[[MPSNDArray alloc]
      initWithDevice:[device metalDevice]
          descriptor:[MPSNDArrayDescriptor descriptorWithDataType:data_type
                                                            shape:shape]]
      autorelease];
  [array writeBytes:const_cast<void*>([data bytes]) strideBytes:nullptr];
  return [self initWithMPSNDArray:array];
}

- (instancetype)initWithMTLBuffer:(id<MTLBuffer>)buffer
                            shape:(MPSShape*)shape
                         dataType:(MPSDataType)data_type {
  if (!shape) refuse("initWithMTLBuffer", @"the shape is nil");
  const NSUInteger row_length =
      [shape count] == 0 ? 1 : [[shape lastObject] unsignedIntegerValue];
  return
      [self initWithMTLBuffer:buffer
                        shape:shape
                     dataType:data_type
                     rowBytes:row_length * emulator::element_size(data_type)];
}

- (instancetype)initWithMTLBuffer:(id<MTLBuffer>)buffer
                            shape:(MPSShape*)shape
                         dataType:(MPSDataType)data_type
                         rowBytes:(NSUInteger)row_bytes {
  const char* what = "initWithMTLBuffer";
  if (!buffer || !shape) refuse(what, @"buffer or shape is nil");
  const emulator::Type type{data_type, emulator::dims_of(shape)};
  emulator::require_type(what, type);
  const std::size_t size = emulator::element_size(data_type);
  const std::size_t row_length = type.shape.empty() ? 1 : type.shape.back();
  if (row_bytes < row_length * size || row_bytes % size != 0) {
    refuse(what, @"rows of %lu bytes for %@", (unsigned long)row_bytes,
           emulator::describe(type));
  }
  const std::size_t needed = type.num_elements() / row_length * row_bytes;
  if ([buffer length] < needed) {
    refuse(what, @"buffer is not large enough: %lu bytes for %@",
           (unsigned long)[buffer length], emulator::describe(type));
  }
  self = [super init];
  _shape = [shape copy];
  _dataType = data_type;
  _device = [[MPSGraphDevice deviceWithMTLDevice:[buffer device]] retain];
  _buffer = [buffer retain];
  _rowBytes = row_bytes;
  return self;
}

- (instancetype)initWithMPSNDArray:(MPSNDArray*)array {
  if (!array) refuse("initWithMPSNDArray", @"the array is nil");
  self = [self initWithMTLBuffer:[array storage]
                           shape:[array shape]
                        dataType:[array dataType]];
  _ndarray = [array retain];
  return self;
}

- (void)dealloc {
  [_shape release];
  [_device release];
  [_buffer release];
  [_ndarray release];
  [super dealloc];
}

- (emulator::TensorRegion)region {
  return {_buffer, {_dataType, emulator::dims_of(_shape)}, _rowBytes};
}

- (MPSNDArray*)mpsndarray {
  if (_ndarray) return [[_ndarray retain] autorelease];
  MPSNDArray* copy = [[[MPSNDArray alloc]
      initWithDevice:[_device metalDevice]
          descriptor:[MPSNDArrayDescriptor descriptorWithDataType:_dataType
                                                            shape:_shape]]
      autorelease];
  const emulator::Array array = [self region].read();
  emulator::encode(_dataType, array.data.data(), array.data.size(),
                   [[copy storage] contents]);
  return copy;
}
@end

namespace emulator {

char* TensorRegion::begin() const { return device_bytes(buffer_.get()); }

std::size_t TensorRegion::row_length() const {
  return type_.shape.empty() ? 1 : type_.shape.back();
}

std::size_t TensorRegion::num_bytes() const {
  return type_.num_elements() / row_length() * row_bytes_;
}

bool TensorRegion::is_tracked() const {
  return [buffer_.get() hazardTrackingMode] == MTLHazardTrackingModeTracked;
}

bool TensorRegion::overlaps(const TensorRegion& other) const {
  return begin() < other.begin() + other.num_bytes() &&
         other.begin() < begin() + num_bytes();
}

Array TensorRegion::read() const {
  Array array{type_, std::vector<double>(type_.num_elements())};
  const std::size_t length = row_length();
  for (std::size_t r = 0; r * length < array.data.size(); ++r) {
    decode(type_.data_type, begin() + r * row_bytes_, length,
           array.data.data() + r * length);
  }
  return array;
}

void TensorRegion::write(const Array& array) const {
  const std::size_t length = row_length();
  for (std::size_t r = 0; r * length < array.data.size(); ++r) {
    encode(type_.data_type, array.data.data() + r * length, length,
           begin() + r * row_bytes_);
  }
}

void TensorRegion::poison() const { std::memset(begin(), 0xff, num_bytes()); }

TensorRegion region_of(MPSGraphTensorData* data) { return [data region]; }

MPSGraphTensorData* make_tensor_data(id<MTLDevice> device, const Type& type) {
  MPSNDArrayDescriptor* descriptor =
      [MPSNDArrayDescriptor descriptorWithDataType:MPSDataType(type.data_type)
                                             shape:shape_of(type.shape)];
  MPSNDArray* array =
      [[[MPSNDArray alloc] initWithDevice:device
                               descriptor:descriptor] autorelease];
  return [[[MPSGraphTensorData alloc] initWithMPSNDArray:array] autorelease];
}

}  // namespace emulator
