// SPDX-License-Identifier: MIT
// The null device under control: allocations that fail, programs that want more
// memory for one batch size, marks that get lost.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/null_device.h"
#include "traingraph/error.h"

namespace traingraph::testing {

/// The null device's target; results of `greedy_batch` rows are huge.
class WrappedTarget final : public Target {
 public:
  explicit WrappedTarget(const Target& inner) : inner_(inner) {}
  std::string_view name() const override { return inner_.name(); }
  std::string reason_unsupported(const Program& program,
                                 const Node& node) const override {
    return inner_.reason_unsupported(program, node);
  }
  LoweredProgram lower(const Program& program,
                       const LowerOptions& options) const override {
    LoweredProgram lowered = inner_.lower(program, options);
    for (Storage& storage : lowered.storages) {
      if (storage.value == kNoValue) continue;
      const Value& value = program.value(storage.value);
      const Shape& shape = value.desc.shape;
      if (value.role != Role::Result || shape.empty()) continue;
      if (shape[0] == greedy_batch) storage.bytes *= 1000;
    }
    return lowered;
  }

  std::int64_t greedy_batch = 0;

 private:
  const Target& inner_;
};

class WrappedContext final : public DeviceContext {
 public:
  DeviceType type() const override { return inner_->type(); }
  std::string description() const override { return "wrapped null"; }
  const Target& target() const override { return target_; }
  std::shared_ptr<DeviceBuffer> allocate(std::size_t bytes,
                                         std::string_view label) override {
    may_fail(label);
    return inner_->allocate(bytes, label);
  }
  std::shared_ptr<StagingBuffer> allocate_staging(
      std::size_t bytes, std::string_view label) override {
    may_fail(label);
    return inner_->allocate_staging(bytes, label);
  }
  std::byte* host_view(Location at) const override {
    return has_views ? inner_->host_view(at) : nullptr;
  }
  std::unique_ptr<BoundUnits> bind(
      const LoweredProgram& program, std::span<const UnitId> units,
      std::span<const Location> locations,
      std::span<const std::vector<PoisonRange>> poison,
      std::span<const Mark> marks) override {
    std::vector<Mark> changed(marks.begin(), marks.end());
    if (change_marks) change_marks(changed);
    return inner_->bind(program, units, locations, poison, changed);
  }
  bool reaches_marks() const override { return true; }
  void submit(Submission& submission) override { inner_->submit(submission); }
  void help(Submission& submission) override { inner_->help(submission); }
  void drain() override { inner_->drain(); }
  void close() override { inner_->close(); }

  /// The n-th allocation from now on whose label has `label` in it fails.
  void fail(std::string label, int n = 1) {
    failing_ = std::move(label);
    countdown_ = n;
  }
  /// Takes effect from the next compile on.
  void make_greedy(std::int64_t batch) { target_.greedy_batch = batch; }

  bool has_views = true;
  std::function<void(std::vector<Mark>&)> change_marks;

 private:
  void may_fail(std::string_view label) {
    if (label.find(failing_) == label.npos || countdown_ <= 0) return;
    --countdown_;
    if (countdown_ == 0) {
      throw OutOfMemoryError(
          ErrorInfo{.op = "allocate", .what = "a test wants this to fail"});
    }
  }

  const std::shared_ptr<DeviceContext> inner_ = Device::null().context();
  WrappedTarget target_{inner_->target()};
  std::string failing_;
  int countdown_ = 0;
};

}  // namespace traingraph::testing
