// SPDX-License-Identifier: MIT
// MTLEvent and MTLSharedEvent.
#include <chrono>
#include <map>

#import "objects.h"
#import "retained.h"

namespace emulator {
namespace {

// A device gives up on work that waits for longer.
constexpr auto kPatience = std::chrono::seconds(10);

struct EventState {
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t value = 0;
  std::multimap<uint64_t, std::function<void(uint64_t)>> listeners;

  void set(uint64_t new_value) {
    std::lock_guard lock(mutex);
    value = new_value;
    changed.notify_all();
    const auto end = listeners.upper_bound(value);
    for (auto entry = listeners.begin(); entry != end; ++entry) {
      post([call = std::move(entry->second), new_value] { call(new_value); });
    }
    listeners.erase(listeners.begin(), end);
  }

  void listen(uint64_t at_value, std::function<void(uint64_t)> call) {
    std::lock_guard lock(mutex);
    if (value < at_value) {
      listeners.emplace(at_value, std::move(call));
    } else {
      post([call = std::move(call), reached = value] { call(reached); });
    }
  }

  int wait_for(uint64_t at_least) {
    std::unique_lock lock(mutex);
    const bool is_reached =
        changed.wait_for(lock, kPatience, [&] { return value >= at_least; });
    return is_reached ? 0 : kTimeoutError;
  }
};

}  // namespace
}  // namespace emulator

@implementation MTLSharedEventListener
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

@interface EmulatedSharedEvent : EmulatedObject <MTLSharedEvent> {
 @public
  emulator::EventState* _state;
}
@end

@implementation EmulatedSharedEvent
- (instancetype)initWithDevice:(id<MTLDevice>)device {
  self = [super initWithDevice:device];
  _state = new emulator::EventState;
  return self;
}

- (void)dealloc {
  delete _state;
  [super dealloc];
}

- (uint64_t)signaledValue {
  std::lock_guard lock(_state->mutex);
  return _state->value;
}

- (void)setSignaledValue:(uint64_t)value {
  _state->set(value);
}

- (void)notifyListener:(MTLSharedEventListener*)listener
               atValue:(uint64_t)value
                 block:(MTLSharedEventNotificationBlock)block {
  if (!listener || !block) {
    emulator::refuse("notifyListener", @"listener and block must not be nil");
  }
  emulator::Retained<id<MTLSharedEvent>> event(self);
  emulator::Retained<MTLSharedEventListener*> kept(listener);
  emulator::RetainedBlock<MTLSharedEventNotificationBlock> call(block);
  _state->listen(value, [event, kept, call](uint64_t reached) {
    call.get()(event.get(), reached);
  });
}
@end

namespace emulator {

id<MTLSharedEvent> make_shared_event(id<MTLDevice> device) {
  return [[EmulatedSharedEvent alloc] initWithDevice:device];
}

Command wait_command(id<MTLEvent> event, uint64_t value) {
  if (!event) refuse("encodeWaitForEvent", @"the event is nil");
  Retained<EmulatedSharedEvent*> kept((EmulatedSharedEvent*)event);
  return [kept, value] { return kept.get()->_state->wait_for(value); };
}

Command signal_command(id<MTLEvent> event, uint64_t value) {
  if (!event) refuse("encodeSignalEvent", @"the event is nil");
  Retained<EmulatedSharedEvent*> kept((EmulatedSharedEvent*)event);
  return [kept, value] {
    kept.get()->_state->set(value);
    return 0;
  };
}

}  // namespace emulator
