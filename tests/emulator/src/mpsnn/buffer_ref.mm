// SPDX-License-Identifier: MIT
#import "buffer_ref.h"

#include <map>
#include <mutex>

namespace emulator {
namespace {

/// Command buffers that are alive. Serials tell apart those that happen to be
/// at the same address.
struct Registry {
  std::mutex mutex;
  std::map<const void*, std::uint64_t> serials;
  std::uint64_t last = 0;

  static Registry& instance() {
    static Registry* const registry = new Registry;
    return *registry;
  }
  std::uint64_t serial_of(id buffer) {
    std::lock_guard lock(mutex);
    auto found = serials.find(buffer);
    return found == serials.end() ? 0 : found->second;
  }
};

}  // namespace

void register_command_buffer(id<MTLCommandBuffer> buffer) {
  Registry& registry = Registry::instance();
  std::lock_guard lock(registry.mutex);
  registry.serials[(id)buffer] = ++registry.last;
}

void forget_command_buffer(id<MTLCommandBuffer> buffer) {
  Registry& registry = Registry::instance();
  std::lock_guard lock(registry.mutex);
  registry.serials.erase((id)buffer);
}

}  // namespace emulator

namespace emulator::mpsnn {

BufferRef::BufferRef(id<MTLCommandBuffer> buffer)
    : buffer_(buffer), serial_(Registry::instance().serial_of(buffer)) {}

id<MTLCommandBuffer> BufferRef::get() const {
  if (!buffer_ || Registry::instance().serial_of(buffer_) != serial_) {
    return nil;
  }
  return buffer_;
}

bool BufferRef::is_same(id<MTLCommandBuffer> other) const {
  id<MTLCommandBuffer> own = get();
  return own && (own == other || live_buffer(own) == live_buffer(other));
}

void BufferRef::record_quietly(Command command) const {
  id<MTLCommandBuffer> live = live_buffer(get());
  if (!live || [live status] >= MTLCommandBufferStatusCommitted) return;
  record_in_encoder(live, std::move(command));
}

}  // namespace emulator::mpsnn
