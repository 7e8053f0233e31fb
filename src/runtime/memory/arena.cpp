// SPDX-License-Identifier: MIT
#include "runtime/memory/arena.h"

#include <algorithm>

#include "base/checked.h"
#include "traingraph/error.h"

namespace traingraph {

Arena::Arena(std::shared_ptr<DeviceContext> context, std::string label)
    : context_(std::move(context)), label_(std::move(label)) {}

std::optional<std::size_t> Arena::reserve(
    const std::shared_ptr<TensorState>& tensor) {
  std::scoped_lock lock(mutex_);
  if (buffer_) return std::nullopt;
  const std::size_t bytes = tensor->desc.size_bytes();
  const std::size_t alignment = context_->target().alignment_of(bytes);
  const std::size_t offset = checked_align(size_, alignment, label_.c_str());
  const std::size_t end = checked_add(
      offset, checked_align(bytes, alignment, label_.c_str()), label_.c_str());
  uploads_.push_back({offset, tensor});
  size_ = end;
  return offset;
}

void Arena::ensure(std::size_t bytes) {
  std::scoped_lock lock(mutex_);
  if (bytes <= size_) return;
  size_ = bytes;
  buffer_.reset();
}

std::size_t Arena::size_bytes() const {
  std::scoped_lock lock(mutex_);
  return size_;
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
  if (buffer_) return {buffer_.get(), offset};
  std::shared_ptr<DeviceBuffer> buffer = context_->allocate(size_, label_);
  for (const Upload& upload : uploads_) {
    const auto tensor = upload.tensor.lock();
    if (!tensor) continue;
    std::scoped_lock tensor_lock(tensor->mutex);
    const HostData& data = tensor->data;
    const std::size_t bytes = std::min(data.size, tensor->desc.size_bytes());
    context_->upload({data.bytes, bytes}, {buffer.get(), upload.offset});
  }
  buffer_ = std::move(buffer);
  uploads_.clear();
  return {buffer_.get(), offset};
}

ArenaStorage::ArenaStorage(std::shared_ptr<Arena> arena, std::size_t offset,
                           std::size_t bytes)
    : DeviceStorage(arena->context(), bytes),
      arena(std::move(arena)),
      offset(offset) {}

void ArenaStorage::visit(
    const std::function<void(const DeviceBytes&)>& action) {
  const Location at = locate();
  action({at, bytes, arena->buffer(), nullptr});
}

void ShardedStorage::visit(
    const std::function<void(const DeviceBytes&)>& /*action*/) {
  throw UnsupportedError(ErrorInfo{
      .op = "optimizer_data",
      .what = "the optimizer's buffers are in shards, of which this process "
              "has its own",
      .hint =
          "Reading the state, the optimizer's included, gathers them in all "
          "processes; loading or restoring it sets them."});
}

ArenaGroup::ArenaGroup(std::shared_ptr<DeviceContext> context,
                       std::string label)
    : context_(std::move(context)), label_(std::move(label)) {}

std::shared_ptr<ArenaStorage> ArenaGroup::place(
    const std::shared_ptr<TensorState>& tensor) {
  std::optional<std::size_t> offset;
  if (!arenas_.empty()) offset = arenas_.back()->reserve(tensor);
  if (!offset) {
    arenas_.push_back(std::make_shared<Arena>(context_, label_));
    offset = arenas_.back()->reserve(tensor);
  }
  return std::make_shared<ArenaStorage>(arenas_.back(), *offset,
                                        tensor->desc.size_bytes());
}

void ArenaGroup::drop_unused() {
  std::erase_if(arenas_,
                [](const auto& arena) { return arena.use_count() == 1; });
}

bool ArenaGroup::contains(const Arena& arena) const {
  return std::ranges::any_of(
      arenas_, [&](const auto& own) { return own.get() == &arena; });
}

std::size_t ArenaGroup::size_bytes() const {
  std::size_t bytes = 0;
  for (const auto& arena : arenas_) {
    bytes = checked_add(bytes, arena->size_bytes(), label_.c_str());
  }
  return bytes;
}

}  // namespace traingraph
