// SPDX-License-Identifier: MIT
// MPSState: resources, and the read count of temporary ones.
#import "states.h"

#include <cstring>

#import "buffer_ref.h"
#include "faults.h"
#import "retained.h"

using emulator::refuse;
using emulator::mpsnn::BufferRef;
using emulator::mpsnn::FilterState;

namespace emulator::mpsnn {

void poison_buffer(id<MTLBuffer> buffer) {
  std::memset(device_bytes(buffer), 0xff, [buffer length]);
}

}  // namespace emulator::mpsnn

@interface MPSState ()
- (BufferRef*)bufferRef;
@end

@implementation MPSState
@synthesize label = _label;

- (instancetype)init {
  refuse(object_getClassName(self), @"init is unavailable");
}

- (instancetype)initWithResources:(NSArray<id<MTLResource>>*)resources
                    commandBuffer:(id<MTLCommandBuffer>)buffer {
  self = [super init];
  emulator::count_birth(self);
  _filterState = new std::shared_ptr<FilterState>;
  _resources = resources ? [resources copy] : [NSArray new];
  _commandBuffer = new BufferRef(buffer);
  _readCount = buffer ? 1 : 0;
  return self;
}

- (instancetype)initWithFilterState:(std::shared_ptr<FilterState>)state
                      commandBuffer:(id<MTLCommandBuffer>)buffer {
  self = [self initWithResources:nil commandBuffer:buffer];
  *static_cast<std::shared_ptr<FilterState>*>(_filterState) = std::move(state);
  return self;
}

- (void)dealloc {
  if (_readCount > 0) emulator::count_unread_temporary();
  emulator::count_death(self);
  delete static_cast<std::shared_ptr<FilterState>*>(_filterState);
  [_resources release];
  delete[self bufferRef];
  [_label release];
  [super dealloc];
}

- (std::shared_ptr<FilterState>)filterState {
  return *static_cast<std::shared_ptr<FilterState>*>(_filterState);
}

- (BufferRef*)bufferRef {
  return static_cast<BufferRef*>(_commandBuffer);
}

- (BOOL)isTemporary {
  return [self bufferRef]->is_set();
}

- (NSUInteger)readCount {
  return _readCount;
}

/// It stays zero where the state is not temporary.
- (void)setReadCount:(NSUInteger)count {
  if (![self isTemporary]) return;
  if (_readCount == 0) {
    refuse(object_getClassName(self), @"the read count was zero already");
  }
  _readCount = count;
  if (count > 0) return;
  auto state = [self filterState];
  auto resources = emulator::Retained<NSArray*>(_resources);
  [self bufferRef]->record_quietly([state, resources] {
    if (state) state->poison();
    for (id<MTLBuffer> buffer in resources.get()) {
      emulator::mpsnn::poison_buffer(buffer);
    }
    return 0;
  });
}

- (void)require:(const char*)what usableOn:(id<MTLCommandBuffer>)buffer {
  if (![self isTemporary]) return;
  if (_readCount == 0) refuse(what, @"%@ is used up: read count 0", self);
  if (![self bufferRef]->is_same(buffer)) {
    refuse(what, @"%@ is of another command buffer", self);
  }
}

- (NSUInteger)resourceCount {
  return [_resources count];
}

- (id<MTLResource>)resourceAtIndex:(NSUInteger)index
                    allocateMemory:(BOOL)allocate {
  (void)allocate;
  if (index >= [_resources count]) {
    refuse("resourceAtIndex", @"%lu of %lu", (unsigned long)index,
           (unsigned long)[_resources count]);
  }
  return [_resources objectAtIndex:index];
}

- (NSUInteger)resourceSize {
  NSUInteger size = 0;
  for (id<MTLResource> resource in _resources) size += [resource allocatedSize];
  return size;
}

- (void)synchronizeOnCommandBuffer:(id<MTLCommandBuffer>)buffer {
  auto state = [self filterState];
  auto resources = emulator::Retained<NSArray*>(_resources);
  emulator::record("synchronizeOnCommandBuffer", buffer, [state, resources] {
    if (state) state->synchronize();
    for (id<MTLResource> resource in resources.get()) {
      emulator::synchronize_to_host(resource);
    }
    return 0;
  });
}
@end

@implementation MPSNNGradientState
@end
@implementation MPSNNBinaryGradientState
@end
@implementation MPSNNMultiaryGradientState
@end

NSUInteger MPSStateBatchIncrementReadCount(MPSStateBatch* batch,
                                           NSInteger amount) {
  NSSet* different = [NSSet setWithArray:batch ? batch : [NSArray array]];
  for (MPSState* state in different) {
    if ([state isTemporary]) [state setReadCount:[state readCount] + amount];
  }
  return [different count];
}

void MPSStateBatchSynchronize(MPSStateBatch* batch,
                              id<MTLCommandBuffer> buffer) {
  for (MPSState* state in [NSSet setWithArray:batch]) {
    [state synchronizeOnCommandBuffer:buffer];
  }
}

NSUInteger MPSStateBatchResourceSize(MPSStateBatch* batch) {
  NSUInteger size = 0;
  for (MPSState* state in
       [NSSet setWithArray:batch ? batch : [NSArray array]]) {
    size += [state resourceSize];
  }
  return size;
}
