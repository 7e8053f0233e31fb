// SPDX-License-Identifier: MIT
// MPSNDArrayDescriptor and MPSNDArray.
#import "ndarray.h"

#include <cstring>

#include "element_types.h"
#import "retained.h"

using emulator::refuse;
using emulator::Retained;
using emulator::Type;

@interface MPSNDArrayDescriptor ()
- (instancetype)initWithDataType:(MPSDataType)data_type shape:(MPSShape*)shape;
- (MPSShape*)shape;
@end

@implementation MPSNDArrayDescriptor
@synthesize dataType = _dataType;

+ (instancetype)descriptorWithDataType:(MPSDataType)data_type
                                 shape:(MPSShape*)shape {
  return [[[self alloc] initWithDataType:data_type shape:shape] autorelease];
}

+ (instancetype)descriptorWithDataType:(MPSDataType)data_type
                        dimensionCount:(NSUInteger)count
                        dimensionSizes:(NSUInteger*)sizes {
  emulator::Dims dims(count);
  for (NSUInteger i = 0; i < count; ++i) dims[count - 1 - i] = sizes[i];
  return [self descriptorWithDataType:data_type shape:emulator::shape_of(dims)];
}

- (instancetype)initWithDataType:(MPSDataType)data_type shape:(MPSShape*)shape {
  if (!shape) refuse("MPSNDArrayDescriptor", @"the shape is nil");
  emulator::require_type("MPSNDArrayDescriptor",
                         {data_type, emulator::dims_of(shape)});
  self = [super init];
  _dataType = data_type;
  _shape = [shape copy];
  emulator::count_birth(self);
  return self;
}

- (void)dealloc {
  emulator::count_death(self);
  [_shape release];
  [super dealloc];
}

- (MPSShape*)shape {
  return _shape;
}
- (NSUInteger)numberOfDimensions {
  return [_shape count];
}
- (NSUInteger)lengthOfDimension:(NSUInteger)axis {
  const NSUInteger rank = [_shape count];
  if (axis >= rank) return 1;
  return [[_shape objectAtIndex:rank - 1 - axis] unsignedIntegerValue];
}

- (void)transposeDimension:(NSUInteger)first withDimension:(NSUInteger)second {
  emulator::Dims dims = emulator::dims_of(_shape);
  if (first >= dims.size() || second >= dims.size()) {
    refuse("transposeDimension", @"axes %lu, %lu", (unsigned long)first,
           (unsigned long)second);
  }
  std::swap(dims[dims.size() - 1 - first], dims[dims.size() - 1 - second]);
  [self reshapeWithShape:emulator::shape_of(dims)];
}

- (void)reshapeWithShape:(MPSShape*)shape {
  [_shape autorelease];
  _shape = [shape copy];
}
@end

namespace emulator {
namespace {

/// Visits every element: its index, and where the strides put it in `bytes`.
/// Strides begin with the fastest axis; null means packed.
template <class Visit>
void for_each_element(const Dims& shape, std::size_t size,
                      const NSInteger* strides, Visit visit) {
  const std::int64_t count = Type{0, shape}.num_elements();
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t offset = i * size;
    if (strides) {
      offset = 0;
      std::int64_t rest = i;
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        const std::int64_t length = shape[shape.size() - 1 - axis];
        offset += rest % length * strides[axis];
        rest /= length;
      }
    }
    visit(i * size, offset);
  }
}

}  // namespace
}  // namespace emulator

@implementation MPSNDArray
@synthesize label = _label, dataType = _dataType, device = _device;

- (instancetype)initWithDevice:(id<MTLDevice>)device
                    descriptor:(MPSNDArrayDescriptor*)descriptor {
  if (!device || !descriptor) {
    refuse("MPSNDArray", @"device or descriptor is nil");
  }
  self = [super init];
  emulator::count_birth(self);
  _device = [device retain];
  _dataType = [descriptor dataType];
  _shape = [[descriptor shape] copy];
  _storage = [device newBufferWithLength:[self resourceSize]
                                 options:MTLResourceStorageModeShared];
  if (!_storage) refuse("MPSNDArray", @"out of memory");
  return self;
}

- (instancetype)initWithDevice:(id<MTLDevice>)device scalar:(double)value {
  MPSShape* shape =
      [NSArray arrayWithObject:[NSNumber numberWithUnsignedInteger:1]];
  self = [self initWithDevice:device
                   descriptor:[MPSNDArrayDescriptor
                                  descriptorWithDataType:MPSDataTypeFloat32
                                                   shape:shape]];
  emulator::encode(_dataType, &value, 1, [_storage contents]);
  return self;
}

- (void)dealloc {
  emulator::count_death(self);
  [_storage release];
  [_shape release];
  [_label release];
  [_device release];
  [super dealloc];
}

- (id<MTLBuffer>)storage {
  return _storage;
}
- (MPSShape*)shape {
  return _shape;
}
- (size_t)dataTypeSize {
  return emulator::element_size(_dataType);
}
- (NSUInteger)numberOfDimensions {
  return [_shape count];
}
- (NSUInteger)lengthOfDimension:(NSUInteger)axis {
  return [[self descriptor] lengthOfDimension:axis];
}
- (MPSNDArrayDescriptor*)descriptor {
  return [MPSNDArrayDescriptor descriptorWithDataType:_dataType shape:_shape];
}
- (NSUInteger)resourceSize {
  return emulator::byte_size({_dataType, emulator::dims_of(_shape)});
}

- (void)readBytes:(void*)bytes strideBytes:(NSInteger*)strides {
  const std::size_t size = [self dataTypeSize];
  const char* elements = static_cast<const char*>([_storage contents]);
  emulator::for_each_element(
      emulator::dims_of(_shape), size, strides, [&](auto at, auto offset) {
        std::memcpy(static_cast<char*>(bytes) + offset, elements + at, size);
      });
}

- (void)writeBytes:(void*)bytes strideBytes:(NSInteger*)strides {
  const std::size_t size = [self dataTypeSize];
  char* elements = static_cast<char*>([_storage contents]);
  emulator::for_each_element(
      emulator::dims_of(_shape), size, strides, [&](auto at, auto offset) {
        std::memcpy(elements + at, static_cast<char*>(bytes) + offset, size);
      });
}

- (void)synchronizeOnCommandBuffer:(id<MTLCommandBuffer>)buffer {
  emulator::record("synchronizeOnCommandBuffer", buffer, nullptr);
}

- (void)convertOn:(id<MTLCommandBuffer>)command_buffer
             what:(const char*)what
             with:(id<MTLBuffer>)buffer
         dataType:(MPSDataType)data_type
           offset:(NSUInteger)offset
       rowStrides:(NSInteger*)row_strides
         isExport:(BOOL)is_export {
  const std::size_t count = [self resourceSize] / [self dataTypeSize];
  const std::size_t bytes = count * emulator::element_size(data_type);
  if (row_strides) refuse(what, @"row strides are not emulated");
  if (!buffer || bytes == 0 || offset + bytes > [buffer length]) {
    refuse(what, @"%lu bytes at %lu do not fit into the buffer",
           (unsigned long)bytes, (unsigned long)offset);
  }
  Retained<MPSNDArray*> array(self);
  Retained<id<MTLBuffer>> outside(buffer);
  auto command = [=] {
    char* outer = emulator::device_bytes(outside.get()) + offset;
    char* inner = emulator::device_bytes([array.get() storage]);
    const MPSDataType inner_type = [array.get() dataType];
    std::vector<double> values(count);
    if (is_export) {
      emulator::decode(inner_type, inner, count, values.data());
      emulator::encode(data_type, values.data(), count, outer);
    } else {
      emulator::decode(data_type, outer, count, values.data());
      emulator::encode(inner_type, values.data(), count, inner);
    }
    return 0;
  };
  emulator::record(what, command_buffer, command);
}

- (void)exportDataWithCommandBuffer:(id<MTLCommandBuffer>)command_buffer
                           toBuffer:(id<MTLBuffer>)buffer
                destinationDataType:(MPSDataType)data_type
                             offset:(NSUInteger)offset
                         rowStrides:(NSInteger*)row_strides {
  [self convertOn:command_buffer
             what:"exportDataWithCommandBuffer"
             with:buffer
         dataType:data_type
           offset:offset
       rowStrides:row_strides
         isExport:YES];
}

- (void)importDataWithCommandBuffer:(id<MTLCommandBuffer>)command_buffer
                         fromBuffer:(id<MTLBuffer>)buffer
                     sourceDataType:(MPSDataType)data_type
                             offset:(NSUInteger)offset
                         rowStrides:(NSInteger*)row_strides {
  [self convertOn:command_buffer
             what:"importDataWithCommandBuffer"
             with:buffer
         dataType:data_type
           offset:offset
       rowStrides:row_strides
         isExport:NO];
}
@end
