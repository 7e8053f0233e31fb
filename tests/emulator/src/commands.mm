// SPDX-License-Identifier: MIT
// MTLCommandQueue and MTLCommandBuffer.
#include "faults.h"
#import "objects.h"
#import "residency.h"
#import "retained.h"

NSErrorDomain const MTLCommandBufferErrorDomain =
    @"MTLCommandBufferErrorDomain";
NSString* const MTLCommandBufferEncoderInfoErrorKey =
    @"MTLCommandBufferEncoderInfoErrorKey";

namespace emulator {

struct CommandBufferState {
  std::shared_ptr<WorkQueue> queue;
  std::shared_ptr<Work> work = std::make_shared<Work>();
  bool has_open_encoder = false;

  int status() const {
    std::lock_guard lock(work->mutex);
    return work->status;
  }
};

}  // namespace emulator

using emulator::refuse;

@interface EmulatedCommandQueue : EmulatedObject <MTLCommandQueue> {
 @public
  std::shared_ptr<emulator::WorkQueue>* _work;
}
- (instancetype)initWithDevice:(id<MTLDevice>)device
                         count:(NSUInteger)max_count;
@end

@interface EmulatedCommandBuffer : EmulatedObject <MTLCommandBuffer> {
 @public
  emulator::CommandBufferState* _state;
  EmulatedCommandQueue* _queue;
  MTLCommandBufferDescriptor* _descriptor;
}
- (instancetype)initWithQueue:(EmulatedCommandQueue*)queue
                   descriptor:(MTLCommandBufferDescriptor*)descriptor;
- (void)requireRecordable:(const char*)what;
@end

@implementation EmulatedCommandBuffer
- (instancetype)initWithQueue:(EmulatedCommandQueue*)queue
                   descriptor:(MTLCommandBufferDescriptor*)descriptor {
  self = [super initWithDevice:[queue device]];
  _queue = [queue retain];
  _descriptor = [descriptor copy];
  _state = new emulator::CommandBufferState{*queue->_work};
  emulator::register_command_buffer(self);
  return self;
}

- (void)dealloc {
  emulator::forget_command_buffer(self);
  [self abandonWork];
  delete _state;
  [_descriptor release];
  [_queue release];
  [super dealloc];
}

/// What was never committed shall hold up neither the queue nor others.
- (void)abandonWork {
  const int status = _state->status();
  if (status == emulator::kNotEnqueued) _state->queue->release_place();
  if (status != emulator::kEnqueued) return;
  _state->work->commands.clear();
  _state->work->scheduled.clear();
  _state->work->completed.clear();
  _state->queue->commit(_state->work);
}

- (id<MTLCommandQueue>)commandQueue {
  return _queue;
}
- (BOOL)retainedReferences {
  return [_descriptor retainedReferences];
}
- (MTLCommandBufferErrorOption)errorOptions {
  return [_descriptor errorOptions];
}
- (MTLCommandBufferStatus)status {
  return MTLCommandBufferStatus(_state->status());
}
- (NSError*)error {
  std::lock_guard lock(_state->work->mutex);
  return emulator::command_buffer_error(_state->work->error,
                                        _state->work->error_text);
}
- (CFTimeInterval)GPUStartTime {
  std::lock_guard lock(_state->work->mutex);
  return _state->work->end > 0 ? _state->work->start : 0;
}
- (CFTimeInterval)GPUEndTime {
  std::lock_guard lock(_state->work->mutex);
  return _state->work->end;
}
- (CFTimeInterval)kernelStartTime {
  return [self GPUStartTime];
}
- (CFTimeInterval)kernelEndTime {
  return [self GPUEndTime];
}

- (void)enqueue {
  if (_state->status() != emulator::kNotEnqueued) {
    refuse("enqueue", @"the command buffer is enqueued already");
  }
  _state->queue->enqueue(_state->work);
}

- (void)commit {
  if (_state->status() >= emulator::kCommitted) {
    refuse("commit", @"the command buffer is committed already");
  }
  if (_state->has_open_encoder) {
    refuse("commit", @"an encoder was not ended");
  }
  [self retain];
  _state->work->release = [self] { [self release]; };
  _state->queue->commit(_state->work);
}

- (void)requireUncommitted:(const char*)what {
  if (_state->status() >= emulator::kCommitted) {
    refuse(what, @"the command buffer is committed already");
  }
}

- (void)requireRecordable:(const char*)what {
  [self requireUncommitted:what];
  if (_state->has_open_encoder) refuse(what, @"an encoder is open");
}

- (void)addScheduledHandler:(MTLCommandBufferHandler)block {
  [self requireUncommitted:"addScheduledHandler"];
  if (!block) refuse("addScheduledHandler", @"the block is nil");
  emulator::RetainedBlock<MTLCommandBufferHandler> handler(block);
  _state->work->scheduled.push_back(
      [handler, buffer = self] { handler.get()(buffer); });
}

- (void)addCompletedHandler:(MTLCommandBufferHandler)block {
  [self requireUncommitted:"addCompletedHandler"];
  if (!block) refuse("addCompletedHandler", @"the block is nil");
  emulator::RetainedBlock<MTLCommandBufferHandler> handler(block);
  _state->work->completed.push_back(
      [handler, buffer = self] { handler.get()(buffer); });
}

- (void)requireCommitted:(const char*)what {
  if (_state->status() < emulator::kCommitted) {
    refuse(what, @"would wait for ever: the command buffer is not committed");
  }
}

- (void)waitUntilScheduled {
  [self requireCommitted:"waitUntilScheduled"];
  _state->work->wait_for(emulator::kScheduled);
}

- (void)waitUntilCompleted {
  [self requireCommitted:"waitUntilCompleted"];
  _state->work->wait_for(emulator::kCompleted);
}

- (id<MTLBlitCommandEncoder>)blitCommandEncoder {
  [self requireRecordable:"blitCommandEncoder"];
  _state->has_open_encoder = true;
  return emulator::make_blit_encoder(self);
}

- (id<MTLComputeCommandEncoder>)computeCommandEncoder {
  [self requireRecordable:"computeCommandEncoder"];
  _state->has_open_encoder = true;
  return emulator::make_compute_encoder(self);
}

- (void)encodeWaitForEvent:(id<MTLEvent>)event value:(uint64_t)value {
  emulator::record("encodeWaitForEvent", self,
                   emulator::wait_command(event, value));
}

- (void)encodeSignalEvent:(id<MTLEvent>)event value:(uint64_t)value {
  emulator::record("encodeSignalEvent", self,
                   emulator::signal_command(event, value));
}

- (void)pushDebugGroup:(NSString*)string {
  if (!string) refuse("pushDebugGroup", @"the name is nil");
}
- (void)popDebugGroup {
}
@end

@implementation EmulatedCommandQueue
- (instancetype)initWithDevice:(id<MTLDevice>)device
                         count:(NSUInteger)max_count {
  self = [super initWithDevice:device];
  _work = new std::shared_ptr<emulator::WorkQueue>(
      std::make_shared<emulator::WorkQueue>(max_count));
  return self;
}

- (void)dealloc {
  (*_work)->stop();
  delete _work;
  [super dealloc];
}

- (id<MTLCommandBuffer>)commandBufferWithDescriptor:
    (MTLCommandBufferDescriptor*)descriptor {
  if (!(*_work)->acquire_place()) {
    refuse("commandBuffer", @"too many command buffers are not completed");
  }
  return [[[EmulatedCommandBuffer alloc] initWithQueue:self
                                            descriptor:descriptor] autorelease];
}

- (void)addResidencySet:(id)set {
  emulator::attach_residency_set(set);
}

- (id<MTLCommandBuffer>)commandBuffer {
  MTLCommandBufferDescriptor* descriptor =
      [[MTLCommandBufferDescriptor new] autorelease];
  return [self commandBufferWithDescriptor:descriptor];
}

- (id<MTLCommandBuffer>)commandBufferWithUnretainedReferences {
  MTLCommandBufferDescriptor* descriptor =
      [[MTLCommandBufferDescriptor new] autorelease];
  [descriptor setRetainedReferences:NO];
  return [self commandBufferWithDescriptor:descriptor];
}
@end

@implementation MTLCommandBufferDescriptor
@synthesize retainedReferences = _retainedReferences,
            errorOptions = _errorOptions;

- (instancetype)init {
  self = [super init];
  _retainedReferences = YES;
  emulator::count_birth(self);
  return self;
}

- (void)dealloc {
  emulator::count_death(self);
  [super dealloc];
}

- (id)copyWithZone:(NSZone*)zone {
  MTLCommandBufferDescriptor* copy =
      [[MTLCommandBufferDescriptor allocWithZone:zone] init];
  [copy setRetainedReferences:_retainedReferences];
  [copy setErrorOptions:_errorOptions];
  return copy;
}
@end

namespace emulator {

id<MTLCommandQueue> make_queue(id<MTLDevice> device, NSUInteger max_count) {
  return [[EmulatedCommandQueue alloc] initWithDevice:device count:max_count];
}

id<MTLCommandBuffer> live_buffer(id<MTLCommandBuffer> buffer) {
  while ([buffer isKindOfClass:[MPSCommandBuffer class]]) {
    buffer = [(MPSCommandBuffer*)buffer commandBuffer];
  }
  return buffer;
}

void record(const char* what, id<MTLCommandBuffer> buffer, Command command) {
  auto* target = (EmulatedCommandBuffer*)live_buffer(buffer);
  if (!target) refuse(what, @"the command buffer is nil");
  [target requireRecordable:what];
  if (command) target->_state->work->commands.push_back(std::move(command));
}

void record_in_encoder(id<MTLCommandBuffer> buffer, Command command) {
  auto* target = (EmulatedCommandBuffer*)buffer;
  target->_state->work->commands.push_back(std::move(command));
}

void close_encoder(id<MTLCommandBuffer> buffer) {
  ((EmulatedCommandBuffer*)buffer)->_state->has_open_encoder = false;
}

NSError* command_buffer_error(int code, const std::string& reason) {
  if (code == 0) return nil;
  NSString* text = [NSString
      stringWithFormat:@"The emulated device failed (code %d).", code];
  if (!reason.empty()) text = to_ns(reason);
  NSDictionary* info =
      [NSDictionary dictionaryWithObject:text forKey:NSLocalizedDescriptionKey];
  return [NSError errorWithDomain:MTLCommandBufferErrorDomain
                             code:code
                         userInfo:info];
}

}  // namespace emulator
