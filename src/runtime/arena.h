// SPDX-License-Identifier: MIT
// Arena: one allocation whose size is fixed at compile and which happens at
// first use. DeviceStorage: where a tensor lives on a device.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "graph/tensor_state.h"
#include "runtime/device_context.h"

namespace traingraph {

class Arena {
 public:
  Arena(std::shared_ptr<DeviceContext> context, std::string label);

  /// Reserves aligned bytes and returns their offset. Before allocation only.
  std::size_t reserve(std::size_t bytes);
  /// At least this size. Growing an allocated arena drops its contents and
  /// starts a new generation; no work may be in flight then.
  void ensure(std::size_t bytes);
  /// Written into the arena when it is allocated.
  void upload_on_allocation(std::size_t offset,
                            std::shared_ptr<TensorState> tensor);

  std::size_t size_bytes() const { return size_; }
  bool is_allocated() const;
  /// Bytes that the device counts; 0 before allocation.
  std::size_t allocated_bytes() const;
  int generation() const { return generation_; }
  const std::shared_ptr<DeviceContext>& context() const { return context_; }
  /// Null before allocation.
  std::shared_ptr<DeviceBuffer> buffer() const;
  /// Allocates at first use. Throws OutOfMemoryError.
  Location at(std::size_t offset);

 private:
  struct Upload {
    std::size_t offset;
    // Weak: tensors own the arena that they live in.
    std::weak_ptr<TensorState> tensor;
  };

  std::shared_ptr<DeviceContext> context_;
  std::string label_;
  std::size_t size_ = 0;
  int generation_ = 0;
  std::vector<Upload> uploads_;
  std::shared_ptr<DeviceBuffer> buffer_;
  mutable std::mutex mutex_;
};

struct DeviceStorage {
  explicit DeviceStorage(std::shared_ptr<DeviceContext> context,
                         std::size_t bytes)
      : context(std::move(context)), bytes(bytes) {}
  virtual ~DeviceStorage() = default;
  /// Allocates the arena at first use.
  virtual Location locate() = 0;
  virtual bool is_allocated() const = 0;

  std::shared_ptr<DeviceContext> context;
  std::size_t bytes;
};

/// At a fixed offset of one arena.
struct ArenaStorage final : DeviceStorage {
  ArenaStorage(std::shared_ptr<Arena> arena, std::size_t bytes);
  /// Inside bytes that were reserved before.
  ArenaStorage(std::shared_ptr<Arena> arena, std::size_t offset,
               std::size_t bytes);
  Location locate() override { return arena->at(offset); }
  bool is_allocated() const override { return arena->is_allocated(); }

  std::shared_ptr<Arena> arena;
  std::size_t offset;
};

}  // namespace traingraph
