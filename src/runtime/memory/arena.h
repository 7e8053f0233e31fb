// SPDX-License-Identifier: MIT
// Arena: one allocation whose size is fixed at compile and which happens at
// first use. DeviceStorage: where a tensor lives on a device.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "graph/tensor_state.h"
#include "runtime/device/device_context.h"

namespace traingraph {

/// A computation of values on a device.
class Computation {
 public:
  virtual ~Computation() = default;
  virtual bool is_done() const = 0;
  /// Returns null while it runs, and when it has succeeded.
  virtual std::exception_ptr error() const = 0;
  /// For threads of the queue, about what is earlier in it. Is it over, or
  /// under way such that it can only fail with the device?
  virtual bool is_settled() const = 0;
  /// Then: what it has failed with or will end with. Null: it computes.
  virtual std::exception_ptr failure() const = 0;
};

class Arena {
 public:
  Arena(std::shared_ptr<DeviceContext> context, std::string label);

  /// Reserves aligned bytes for a tensor, whose host data goes there when the
  /// arena is allocated. Empty when it is allocated already.
  std::optional<std::size_t> reserve(
      const std::shared_ptr<TensorState>& tensor);
  /// Makes the arena at least this large. Growing an allocated arena drops its
  /// contents; no work may be in flight then.
  void ensure(std::size_t bytes);

  std::size_t size_bytes() const;
  bool is_allocated() const;
  /// Bytes that the device counts; 0 before allocation.
  std::size_t allocated_bytes() const;
  const std::shared_ptr<DeviceContext>& context() const { return context_; }
  /// Returns null before allocation.
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
  std::vector<Upload> uploads_;
  std::shared_ptr<DeviceBuffer> buffer_;
  mutable std::mutex mutex_;  // a tensor's mutex may be taken under it
};

/// Bytes on a device, for as long as it takes to enqueue work on them.
struct DeviceBytes {
  Location at;
  std::size_t size = 0;
  std::shared_ptr<DeviceBuffer> buffer;  // keeps them alive
  /// They are valid when this one succeeds; null: they always are.
  std::shared_ptr<const Computation> computed_by;
  /// The contents are these bytes when that is less than the tensor: a smaller
  /// batch.
  std::optional<Shape> shape = std::nullopt;
};

struct DeviceStorage {
  DeviceStorage(std::shared_ptr<DeviceContext> context, std::size_t bytes)
      : context(std::move(context)), bytes(bytes) {}
  virtual ~DeviceStorage() = default;
  /// Calls `action` with the bytes of the newest value. Until it returns they
  /// stay where they are, and the graph that computes them enqueues nothing.
  virtual void visit(const std::function<void(const DeviceBytes&)>& action) = 0;
  /// Is there device memory that a new value of the tensor must reach?
  virtual bool holds_value() const = 0;
  /// Has the device a value that the host may not have?
  virtual bool has_value() const { return holds_value(); }

  std::shared_ptr<DeviceContext> context;
  std::size_t bytes;
};

/// Storage at a fixed offset of one arena.
struct ArenaStorage final : DeviceStorage {
  ArenaStorage(std::shared_ptr<Arena> arena, std::size_t offset,
               std::size_t bytes);
  void visit(const std::function<void(const DeviceBytes&)>& action) override;
  /// An arena that is not allocated takes the host data when it is.
  bool holds_value() const override { return arena->is_allocated(); }
  /// Allocates the arena at first use.
  Location locate() const { return arena->at(offset); }

  std::shared_ptr<Arena> arena;
  std::size_t offset;
};

/// An optimizer's buffer that several processes have parts of: nobody can read
/// or write it alone.
struct ShardedStorage final : DeviceStorage {
  using DeviceStorage::DeviceStorage;
  /// Throws UnsupportedError.
  void visit(const std::function<void(const DeviceBytes&)>& action) override;
  bool holds_value() const override { return true; }
};

/// The arenas of one category. A tensor that comes after the last arena was
/// allocated starts another.
class ArenaGroup {
 public:
  ArenaGroup() = default;
  ArenaGroup(std::shared_ptr<DeviceContext> context, std::string label);

  std::shared_ptr<ArenaStorage> place(
      const std::shared_ptr<TensorState>& tensor);
  /// Forgets arenas that no tensor lives in any more.
  void drop_unused();
  bool contains(const Arena& arena) const;

  const std::shared_ptr<DeviceContext>& context() const { return context_; }
  std::size_t size_bytes() const;
  const std::vector<std::shared_ptr<Arena>>& arenas() const { return arenas_; }

 private:
  std::shared_ptr<DeviceContext> context_;
  std::string label_;
  std::vector<std::shared_ptr<Arena>> arenas_;
};

}  // namespace traingraph
