// SPDX-License-Identifier: MIT
// MTLResidencySet: which heaps are resident. Changes count from commit on.
#import "residency.h"

#import <Metal/MTLResidencySet.h>

#include <mutex>
#include <set>

#include "faults.h"

namespace emulator {

struct ResidencyState {
  std::multiset<id> pending, committed;
  bool is_requested = false, is_attached = false;
};

namespace {

std::mutex& residency_mutex() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

std::set<ResidencyState*>& states() {
  static auto* const states = new std::set<ResidencyState*>;
  return *states;
}

}  // namespace
}  // namespace emulator

@interface EmulatedResidencySet : EmulatedObject <MTLResidencySet> {
 @public
  emulator::ResidencyState* _state;
}
@end

@implementation EmulatedResidencySet
- (instancetype)initWithDevice:(id<MTLDevice>)device {
  self = [super initWithDevice:device];
  _state = new emulator::ResidencyState;
  std::lock_guard lock(emulator::residency_mutex());
  emulator::states().insert(_state);
  return self;
}

- (void)dealloc {
  {
    std::lock_guard lock(emulator::residency_mutex());
    emulator::states().erase(_state);
  }
  delete _state;
  [super dealloc];
}

- (NSUInteger)allocationCount {
  std::lock_guard lock(emulator::residency_mutex());
  return _state->pending.size();
}
- (void)requestResidency {
  std::lock_guard lock(emulator::residency_mutex());
  _state->is_requested = true;
}
- (void)endResidency {
  std::lock_guard lock(emulator::residency_mutex());
  _state->is_requested = false;
}
- (void)addAllocation:(id<MTLAllocation>)allocation {
  if (!allocation) emulator::refuse("addAllocation", @"it is nil");
  std::lock_guard lock(emulator::residency_mutex());
  _state->pending.insert(allocation);
}
- (void)removeAllocation:(id<MTLAllocation>)allocation {
  std::lock_guard lock(emulator::residency_mutex());
  const auto found = _state->pending.find(allocation);
  if (found != _state->pending.end()) {
    _state->pending.erase(found);
    return;
  }
  emulator::refuse("removeAllocation", @"it is not in the set");
}
- (void)commit {
  std::lock_guard lock(emulator::residency_mutex());
  _state->committed = _state->pending;
}
@end

@implementation MTLResidencySetDescriptor
@synthesize label = _label, initialCapacity = _initialCapacity;
- (instancetype)init {
  self = [super init];
  emulator::count_birth(self);
  return self;
}
- (void)dealloc {
  emulator::count_death(self);
  [_label release];
  [super dealloc];
}
@end

namespace emulator {

id make_residency_set(id<MTLDevice> device, NSString* label) {
  EmulatedResidencySet* set =
      [[EmulatedResidencySet alloc] initWithDevice:device];
  [set setLabel:label];
  return set;
}

void attach_residency_set(id set) {
  std::lock_guard lock(residency_mutex());
  ((EmulatedResidencySet*)set)->_state->is_attached = true;
}

bool is_resident(id<MTLHeap> heap) {
  std::lock_guard lock(residency_mutex());
  for (const ResidencyState* state : states()) {
    const bool counts = state->is_requested && state->is_attached;
    if (counts && state->committed.contains(heap)) return true;
  }
  return false;
}

}  // namespace emulator
