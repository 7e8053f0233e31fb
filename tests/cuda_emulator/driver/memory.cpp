// SPDX-License-Identifier: MIT
// Of libcuda: memory and copies.
#include <cstring>

#include "driver/state.h"

namespace traingraph::cuda {
using namespace cuda_emulator;

namespace {

std::uint64_t address_of(const void* host) {
  return reinterpret_cast<std::uint64_t>(host);
}
void* pointer(DeviceAddress address) {
  return reinterpret_cast<void*>(address);
}

/// What a card reaches: its own memory, and pinned memory.
bool reaches(int card, DeviceAddress address, std::size_t bytes) {
  const Range* range = state().memory.find(address, bytes);
  return range != nullptr && (range->owner == card || range->owner == kHost);
}

/// False also of what ends beyond pinned memory: that is an error.
bool is_pinned(const void* host, std::size_t bytes) {
  const Range* range = state().memory.find(address_of(host), bytes);
  return range != nullptr && range->owner == kHost;
}

Node other_node(std::function<void()> run) {
  Node node;
  node.other = std::move(run);
  return node;
}

}  // namespace

Result cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  EMULATED_CALL();
  *free = state().memory.free_bytes(call.card());
  *total = Memory::total_bytes();
  return Result::Success;
}

Result cuMemAlloc_v2(DeviceAddress* address, std::size_t bytes) {
  EMULATED_CALL();
  if (bytes == 0) return Result::InvalidValue;
  const Range* range = state().memory.allocate(bytes, call.card());
  if (range == nullptr) return Result::OutOfMemory;
  *address = address_of(range->begin);
  return Result::Success;
}

Result cuMemFree_v2(DeviceAddress address) {
  EMULATED_CALL();
  if (const Result lost = call.wait_for_all(); lost != Result::Success) {
    return lost;
  }
  return state().memory.free(address, call.card()) ? Result::Success
                                                   : Result::InvalidValue;
}

Result cuMemHostAlloc(void** host, std::size_t bytes, unsigned flags) {
  EMULATED_CALL();
  if (bytes == 0 || (flags & ~7u) != 0) return Result::InvalidValue;
  const Range* range = state().memory.allocate(bytes, kHost);
  if (range == nullptr) return Result::OutOfMemory;
  *host = range->begin;
  return Result::Success;
}

Result cuMemFreeHost(void* host) {
  EMULATED_CALL(Call::kInit);
  if (call.card() >= 0) call.wait_for_all();
  return state().memory.free(address_of(host), kHost) ? Result::Success
                                                      : Result::InvalidValue;
}

Result cuMemHostGetDevicePointer_v2(DeviceAddress* address, void* host,
                                    unsigned flags) {
  EMULATED_CALL();
  if (flags != 0 || !is_pinned(host, 1)) return Result::InvalidValue;
  *address = address_of(host);
  return Result::Success;
}

Result cuMemsetD8Async(DeviceAddress to, unsigned char value, std::size_t bytes,
                       StreamHandle handle) {
  EMULATED_CALL();
  const auto stream = state().streams.find(handle);
  if (stream == nullptr) return kInvalidHandle;
  if (!reaches(stream->card, to, bytes)) return Result::InvalidValue;
  return submit_node(
      stream, other_node([=] { std::memset(pointer(to), value, bytes); }));
}

/// From pinned memory the copy reads when its turn comes; else at once.
Result cuMemcpyHtoDAsync_v2(DeviceAddress to, const void* from,
                            std::size_t bytes, StreamHandle handle) {
  EMULATED_CALL();
  const auto stream = state().streams.find(handle);
  if (stream == nullptr) return kInvalidHandle;
  if (!reaches(stream->card, to, bytes)) return Result::InvalidValue;
  if (is_pinned(from, bytes)) {
    return submit_node(
        stream, other_node([=] { std::memcpy(pointer(to), from, bytes); }));
  }
  if (stream->captured) return kCaptureUnsupported;
  const auto* begin = static_cast<const unsigned char*>(from);
  return submit_node(stream,
                     other_node([to, copy = std::vector(begin, begin + bytes)] {
                       std::memcpy(pointer(to), copy.data(), copy.size());
                     }));
}

/// To pinned memory the copy writes when its turn comes; else it is waited for.
Result cuMemcpyDtoHAsync_v2(void* to, DeviceAddress from, std::size_t bytes,
                            StreamHandle handle) {
  EMULATED_CALL();
  const auto stream = state().streams.find(handle);
  if (stream == nullptr) return kInvalidHandle;
  if (!reaches(stream->card, from, bytes)) return Result::InvalidValue;
  const bool waits = !is_pinned(to, bytes);
  if (waits && stream->captured) return kCaptureUnsupported;
  submit_node(stream,
              other_node([=] { std::memcpy(to, pointer(from), bytes); }));
  return waits ? call.wait_for(stream->last) : Result::Success;
}

Result cuMemcpyDtoDAsync_v2(DeviceAddress to, DeviceAddress from,
                            std::size_t bytes, StreamHandle handle) {
  EMULATED_CALL();
  const auto stream = state().streams.find(handle);
  if (stream == nullptr) return kInvalidHandle;
  if (!reaches(stream->card, to, bytes) ||
      !reaches(stream->card, from, bytes)) {
    return Result::InvalidValue;
  }
  return submit_node(stream, other_node([=] {
                       std::memcpy(pointer(to), pointer(from), bytes);
                     }));
}

}  // namespace traingraph::cuda
