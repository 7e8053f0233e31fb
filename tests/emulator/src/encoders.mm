// SPDX-License-Identifier: MIT
// Blit and compute encoders.
#include <cstring>
#include <map>

#include "faults.h"
#include "hardware_faults.h"
#import "libraries.h"
#import "objects.h"
#import "retained.h"

using emulator::refuse;
using emulator::Retained;

@interface EmulatedEncoder : EmulatedObject <MTLCommandEncoder> {
  id<MTLCommandBuffer> _buffer;
  BOOL _isEnded;
}
- (instancetype)initWithBuffer:(id<MTLCommandBuffer>)buffer;
- (void)record:(const char*)what command:(emulator::Command)command;
- (void)requireOpen:(const char*)what;
@end

@implementation EmulatedEncoder
- (instancetype)initWithBuffer:(id<MTLCommandBuffer>)buffer {
  self = [super initWithDevice:[buffer device]];
  _buffer = [buffer retain];
  return self;
}

- (void)dealloc {
  [_buffer release];
  [super dealloc];
}

- (void)requireOpen:(const char*)what {
  if (_isEnded) refuse(what, @"the encoder was ended");
}

- (void)record:(const char*)what command:(emulator::Command)command {
  [self requireOpen:what];
  emulator::record_in_encoder(_buffer, std::move(command));
}

- (void)endEncoding {
  [self requireOpen:"endEncoding"];
  _isEnded = YES;
  emulator::close_encoder(_buffer);
}

- (void)insertDebugSignpost:(NSString*)string {
  (void)string;
}
- (void)pushDebugGroup:(NSString*)string {
  (void)string;
}
- (void)popDebugGroup {
}
@end

namespace emulator {
namespace {

void require_range(const char* what, id<MTLBuffer> buffer, NSUInteger offset,
                   NSUInteger size) {
  if (!buffer) refuse(what, @"the buffer is nil");
  const NSUInteger length = [buffer length];
  if (offset > length || size > length - offset) {
    refuse(what, @"%lu bytes at %lu exceed the buffer's %lu",
           (unsigned long)size, (unsigned long)offset, (unsigned long)length);
  }
}

}  // namespace
}  // namespace emulator

@interface EmulatedBlitCommandEncoder : EmulatedEncoder <MTLBlitCommandEncoder>
@end

@implementation EmulatedBlitCommandEncoder
- (void)synchronizeResource:(id<MTLResource>)resource {
  const char* what = "synchronizeResource";
  if (!resource) refuse(what, @"the resource is nil");
  if ([resource storageMode] != MTLStorageModeManaged) {
    refuse(what, @"the resource's storage is not managed");
  }
  Retained<id<MTLResource>> kept(resource);
  [self record:what
       command:[kept] {
         emulator::synchronize_to_host(kept.get());
         return 0;
       }];
}

- (void)copyFromBuffer:(id<MTLBuffer>)source
          sourceOffset:(NSUInteger)source_offset
              toBuffer:(id<MTLBuffer>)destination
     destinationOffset:(NSUInteger)destination_offset
                  size:(NSUInteger)size {
  const char* what = "copyFromBuffer";
  emulator::require_range(what, source, source_offset, size);
  emulator::require_range(what, destination, destination_offset, size);
  if (size == 0) refuse(what, @"the size is zero");
  if (source_offset % 4 || destination_offset % 4 || size % 4) {
    refuse(what, @"offsets and size must be multiples of 4");
  }
  const char* from = emulator::device_bytes(source) + source_offset;
  char* to = emulator::device_bytes(destination) + destination_offset;
  if (from < to + size && to < from + size) {
    refuse(what, @"source and destination overlap");
  }
  emulator::count_copy();
  Retained<id<MTLBuffer>> kept_source(source);
  Retained<id<MTLBuffer>> kept_destination(destination);
  [self record:what
       command:[=] {
         (void)kept_source, (void)kept_destination;
         std::memcpy(to, from, emulator::bytes_that_arrive(size));
         return 0;
       }];
}

- (void)fillBuffer:(id<MTLBuffer>)buffer
             range:(NSRange)range
             value:(uint8_t)value {
  const char* what = "fillBuffer";
  emulator::require_range(what, buffer, range.location, range.length);
  if (range.length == 0) refuse(what, @"the range is empty");
  if (range.location % 4 || range.length % 4) {
    refuse(what, @"the range must consist of multiples of 4");
  }
  Retained<id<MTLBuffer>> kept(buffer);
  [self record:what
       command:[=] {
         std::memset(emulator::device_bytes(kept.get()) + range.location, value,
                     emulator::bytes_that_arrive(range.length));
         return 0;
       }];
}
@end

namespace emulator {
namespace {

/// An argument of a kernel: a place in a buffer, or bytes.
struct Argument {
  Retained<id<MTLBuffer>> buffer{nil};
  NSUInteger offset = 0;
  std::vector<char> bytes;

  void* pointer() {
    if (buffer.get()) return device_bytes(buffer.get()) + offset;
    return bytes.data();
  }
};

constexpr NSUInteger kMaxArguments = 31;
constexpr NSUInteger kMaxBytes = 4096;

NSUInteger volume(MTLSize size) {
  return size.width * size.height * size.depth;
}

Command dispatch_command(const ComputeKernel* kernel,
                         std::map<NSUInteger, Argument> arguments,
                         NSUInteger threads) {
  return [kernel, arguments = std::move(arguments), threads]() mutable {
    std::vector<void*> pointers;
    for (auto& [index, argument] : arguments) {
      pointers.resize(index + 1);
      pointers[index] = argument.pointer();
    }
    for (NSUInteger i = 0; i < threads; ++i) {
      (*kernel)(pointers, static_cast<unsigned>(i));
    }
    return 0;
  };
}

}  // namespace
}  // namespace emulator

@interface EmulatedComputeCommandEncoder
    : EmulatedEncoder <MTLComputeCommandEncoder> {
  std::map<NSUInteger, emulator::Argument>* _arguments;
  EmulatedComputePipelineState* _pipeline;
}
@end

@implementation EmulatedComputeCommandEncoder
- (instancetype)initWithBuffer:(id<MTLCommandBuffer>)buffer {
  self = [super initWithBuffer:buffer];
  _arguments = new std::map<NSUInteger, emulator::Argument>;
  return self;
}

- (void)dealloc {
  delete _arguments;
  [_pipeline release];
  [super dealloc];
}

- (void)setComputePipelineState:(id<MTLComputePipelineState>)state {
  [self requireOpen:"setComputePipelineState"];
  if (!state) refuse("setComputePipelineState", @"the state is nil");
  [(id)state retain];
  [_pipeline release];
  _pipeline = (EmulatedComputePipelineState*)state;
}

- (void)requireIndex:(NSUInteger)index {
  [self requireOpen:"setBuffer"];
  if (index >= emulator::kMaxArguments) {
    refuse("setBuffer", @"index %lu", (unsigned long)index);
  }
}

- (void)setBytes:(const void*)bytes
          length:(NSUInteger)length
         atIndex:(NSUInteger)index {
  [self requireIndex:index];
  if (!bytes || length == 0 || length > emulator::kMaxBytes) {
    refuse("setBytes", @"%lu bytes: at most 4096", (unsigned long)length);
  }
  const char* first = static_cast<const char*>(bytes);
  emulator::Argument argument;
  argument.bytes.assign(first, first + length);
  (*_arguments)[index] = argument;
}

- (void)setBuffer:(id<MTLBuffer>)buffer
           offset:(NSUInteger)offset
          atIndex:(NSUInteger)index {
  [self requireIndex:index];
  if (!buffer) {
    _arguments->erase(index);
    return;
  }
  emulator::require_range("setBuffer", buffer, offset, 1);
  emulator::Argument argument;
  argument.buffer = Retained<id<MTLBuffer>>(buffer);
  argument.offset = offset;
  (*_arguments)[index] = argument;
}

- (void)setBufferOffset:(NSUInteger)offset atIndex:(NSUInteger)index {
  [self requireIndex:index];
  auto argument = _arguments->find(index);
  if (argument == _arguments->end() || !argument->second.buffer.get()) {
    refuse("setBufferOffset", @"no buffer at index %lu", (unsigned long)index);
  }
  emulator::require_range("setBufferOffset", argument->second.buffer.get(),
                          offset, 1);
  argument->second.offset = offset;
}

- (void)dispatch:(const char*)what
         threads:(NSUInteger)threads
        perGroup:(NSUInteger)per_group {
  if (!_pipeline) refuse(what, @"no pipeline state is set");
  if (threads == 0 || per_group == 0) refuse(what, @"the grid is empty");
  const NSUInteger limit = [_pipeline maxTotalThreadsPerThreadgroup];
  if (per_group > limit) {
    refuse(what, @"%lu threads per threadgroup: at most %lu",
           (unsigned long)per_group, (unsigned long)limit);
  }
  emulator::count_dispatch();
  [self record:what
       command:emulator::dispatch_command(_pipeline->_kernel, *_arguments,
                                          threads)];
}

- (void)dispatchThreadgroups:(MTLSize)groups
       threadsPerThreadgroup:(MTLSize)per_group {
  [self dispatch:"dispatchThreadgroups"
         threads:emulator::volume(groups) * emulator::volume(per_group)
        perGroup:emulator::volume(per_group)];
}

- (void)dispatchThreads:(MTLSize)threads
    threadsPerThreadgroup:(MTLSize)per_group {
  [self dispatch:"dispatchThreads"
         threads:emulator::volume(threads)
        perGroup:emulator::volume(per_group)];
}

- (void)useResource:(id<MTLResource>)resource usage:(MTLResourceUsage)usage {
  (void)usage;
  if (!resource) refuse("useResource", @"the resource is nil");
}

- (void)useHeap:(id<MTLHeap>)heap {
  if (!heap) refuse("useHeap", @"the heap is nil");
}
@end

namespace emulator {

id<MTLBlitCommandEncoder> make_blit_encoder(id<MTLCommandBuffer> buffer) {
  return
      [[[EmulatedBlitCommandEncoder alloc] initWithBuffer:buffer] autorelease];
}

id<MTLComputeCommandEncoder> make_compute_encoder(id<MTLCommandBuffer> buffer) {
  return [[[EmulatedComputeCommandEncoder alloc] initWithBuffer:buffer]
      autorelease];
}

}  // namespace emulator
