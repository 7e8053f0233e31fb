// SPDX-License-Identifier: MIT
#include "runtime/arena.h"

#include <algorithm>
#include <cstring>

namespace traingraph {

Arena::Arena(std::shared_ptr<DeviceContext> context, std::string label)
    : context_(std::move(context)), label_(std::move(label)) {}

std::size_t Arena::reserve(std::size_t bytes) {
  const std::size_t alignment = context_->target().alignment();
  const std::size_t offset = size_;
  size_ += (bytes + alignment - 1) / alignment * alignment;
  return offset;
}

void Arena::ensure(std::size_t bytes) {
  std::scoped_lock lock(mutex_);
  if (bytes <= size_) return;
  size_ = bytes;
  if (!buffer_) return;
  buffer_.reset();
  ++generation_;
}

void Arena::upload_on_allocation(std::size_t offset,
                                 std::shared_ptr<TensorState> tensor) {
  uploads_.push_back({offset, std::move(tensor)});
}

bool Arena::is_allocated() const {
  std::scoped_lock lock(mutex_);
  return buffer_ != nullptr;
}

std::size_t Arena::allocated_bytes() const {
  std::scoped_lock lock(mutex_);
  return buffer_ ? buffer_->size_bytes() : 0;
}

std::shared_ptr<DeviceBuffer> Arena::buffer() const {
  std::scoped_lock lock(mutex_);
  return buffer_;
}

Location Arena::at(std::size_t offset) {
  std::scoped_lock lock(mutex_);
  if (!buffer_) {
    buffer_ = context_->allocate(size_, label_);
    for (const Upload& upload : uploads_) {
      const auto tensor = upload.tensor.lock();
      if (!tensor) continue;
      const HostData& data = tensor->data;
      const std::size_t bytes = std::min(data.size, tensor->desc.size_bytes());
      if (bytes == 0) continue;
      std::memcpy(buffer_->host() + upload.offset, data.bytes, bytes);
    }
    uploads_.clear();
  }
  return {buffer_.get(), offset};
}

ArenaStorage::ArenaStorage(std::shared_ptr<Arena> arena, std::size_t bytes)
    : DeviceStorage(arena->context(), bytes), arena(std::move(arena)) {
  offset = this->arena->reserve(bytes);
}

ArenaStorage::ArenaStorage(std::shared_ptr<Arena> arena, std::size_t offset,
                           std::size_t bytes)
    : DeviceStorage(arena->context(), bytes),
      arena(std::move(arena)),
      offset(offset) {}

}  // namespace traingraph
