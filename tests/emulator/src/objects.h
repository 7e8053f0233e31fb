// SPDX-License-Identifier: MIT
// What the files that implement Apple's classes share.
#pragma once

#import <Metal/Metal.h>
#import <MetalPerformanceShaders/MetalPerformanceShaders.h>

#include <memory>

#include "array.h"
#include "work_queue.h"

namespace emulator {

/// Counted in live_objects: by every init and dealloc. EmulatedBuffer counts as
/// MTLBuffer.
void count_birth(id object);
void count_death(id object);

/// Ends in NSInvalidArgumentException "what: ...", as Apple's assertions abort.
[[noreturn]] void refuse(const char* what, NSString* format, ...);

NSString* to_ns(const std::string& text);
NSString* describe(const Type& type);

/// graph_core.h declares these, too; here they are for files without graphs.
Dims dims_of(NSArray<NSNumber*>* numbers);
NSArray<NSNumber*>* shape_of(const Dims& dims);
/// Refuses types that no tensor has and lengths below one.
void require_type(const char* what, const Type& type);
std::size_t byte_size(const Type& type);

/// What the device sees of a buffer; the host may see other memory.
char* device_bytes(id<MTLBuffer> buffer);
/// Managed storage of a device with memory of its own: copies the host's
/// bytes, or back.
void synchronize_to_host(id<MTLResource> resource);

/// The buffer itself, or the one that an MPSCommandBuffer wraps.
id<MTLCommandBuffer> live_buffer(id<MTLCommandBuffer> buffer);
/// Which command buffers are alive, MPSCommandBuffer included.
void register_command_buffer(id<MTLCommandBuffer> buffer);
void forget_command_buffer(id<MTLCommandBuffer> buffer);
/// Refuses when the buffer was committed or an encoder is open.
void record(const char* what, id<MTLCommandBuffer> buffer, Command command);
/// Encoders record while they are open.
void record_in_encoder(id<MTLCommandBuffer> buffer, Command command);
void close_encoder(id<MTLCommandBuffer> buffer);

Command wait_command(id<MTLEvent> event, uint64_t value);
Command signal_command(id<MTLEvent> event, uint64_t value);

NSError* command_buffer_error(int code, const std::string& reason);

id<MTLBlitCommandEncoder> make_blit_encoder(id<MTLCommandBuffer> buffer);
id<MTLComputeCommandEncoder> make_compute_encoder(id<MTLCommandBuffer> buffer);
id<MTLCommandQueue> make_queue(id<MTLDevice> device, NSUInteger max_count);
id<MTLHeap> make_heap(id<MTLDevice> device, MTLHeapDescriptor* descriptor);
id<MTLBuffer> make_buffer(id<MTLDevice> device, NSUInteger length,
                          MTLResourceOptions options, const void* bytes);
id<MTLBuffer> make_buffer_no_copy(id<MTLDevice> device, void* pointer,
                                  NSUInteger length, MTLResourceOptions options,
                                  void (^deallocator)(void*, NSUInteger));
/// A buffer in a heap; releases its place by -[EmulatedHeap freeRangeAt:...].
id<MTLBuffer> make_heap_buffer(id<MTLHeap> heap, char* bytes, NSUInteger offset,
                               NSUInteger length);
id<MTLLibrary> make_library(id<MTLDevice> device, NSString* source,
                            NSError** error);
id<MTLComputePipelineState> make_pipeline(id<MTLFunction> function);
id<MTLSharedEvent> make_shared_event(id<MTLDevice> device);

/// Size and alignment of buffers in heaps.
inline constexpr NSUInteger kHeapAlignment = 256;
NSUInteger heap_alignment_of(NSUInteger length);
NSUInteger heap_size_of(NSUInteger length);

}  // namespace emulator

/// Base of the classes behind Metal's protocols.
@interface EmulatedObject : NSObject {
  id<MTLDevice> _device;
  NSString* _label;
}
@property(copy, atomic) NSString* label;
@property(readonly) id<MTLDevice> device;
- (instancetype)initWithDevice:(id<MTLDevice>)device;
@end

@interface MPSCommandBuffer (Emulator)
/// What commitAndContinue does, without calling it.
- (void)replaceCommandBuffer;
@end
