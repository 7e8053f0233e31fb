// SPDX-License-Identifier: MIT
// The entry points of metal_backend.h and the Metal device itself.
#import "metal/command_stream.h"
#import "metal/guard.h"
#include "metal/metal_backend.h"
#include "metal/metal_target.h"
#include "traingraph/error.h"

namespace traingraph::metal {
namespace {

class MetalContext final : public DeviceContext {
 public:
  explicit MetalContext(std::unique_ptr<GpuDevice> device)
      : device_(std::move(device)),
        target_(*device_, device_->limits),
        stream_(*device_) {}

  DeviceType type() const override { return DeviceType::GPU; }
  std::string description() const override { return describe(*device_); }
  std::vector<std::string> gpu_names() const override {
    return {name_of(*device_)};
  }
  const Target& target() const override { return target_; }

  std::shared_ptr<DeviceBuffer> allocate(std::size_t bytes,
                                         std::string_view label) override {
    return make_heap(bytes, label);
  }
  std::shared_ptr<StagingBuffer> allocate_staging(
      std::size_t bytes, std::string_view label) override {
    return make_heap(bytes, label);
  }
  std::byte* host_view(Location at) const override {
    heap_of(at).note_write(at.offset, 1);  // it may
    return heap_of(at).bytes().data() + at.offset;
  }

  std::unique_ptr<BoundUnits> bind(
      const LoweredProgram& program, std::span<const UnitId> units,
      std::span<const Location> locations,
      std::span<const std::vector<PoisonRange>> poison,
      std::span<const Mark> marks) override {
    return bind_units(program, units, locations, poison, marks);
  }
  bool reaches_marks() const override { return true; }
  void submit(Submission& submission) override { stream_.submit(submission); }
  void drain() override { stream_.drain(); }
  void close() override { stream_.close(); }

  std::size_t engine_bytes() const override {
    const std::size_t all = [device_->metal.get() currentAllocatedSize];
    const std::size_t ours = device_->heap_bytes;
    return all > ours ? all - ours : 0;
  }

 private:
  std::shared_ptr<HeapBuffer> make_heap(std::size_t bytes,
                                        std::string_view label) const {
    auto buffer = HeapBuffer::make(*device_, bytes, label);
    if (buffer) return buffer;
    throw OutOfMemoryError(
        ErrorInfo{.op = "allocate",
                  .node = std::string(label),
                  .what = "the GPU's memory does not suffice",
                  .expected = std::to_string(bytes) + " bytes",
                  .got = available(),
                  .hint = "Use a smaller batch, or free other graphs."});
  }

  std::string available() const {
    id<MTLDevice> device = device_->metal.get();
    return std::to_string([device currentAllocatedSize]) + " of " +
           std::to_string([device recommendedMaxWorkingSetSize]) +
           " bytes in use, at most " +
           std::to_string([device maxBufferLength]) + " in one piece";
  }

  std::unique_ptr<GpuDevice> device_;
  MetalTarget target_;
  CommandStream stream_;
};

/// Looking for a GPU compiles a kernel: once per process.
Discovery& discovery() {
  static auto* found = new Discovery(discover_gpu());
  return *found;
}

}  // namespace

std::shared_ptr<DeviceContext> make_context() {
  if (!discovery().reason.empty()) return nullptr;
  return std::make_shared<MetalContext>(std::move(discovery().device));
}

std::shared_ptr<DeviceContext> make_context(
    const std::function<void(GpuLimits&)>& change) {
  Discovery found = discover_gpu();
  if (!found.device) return nullptr;
  change(found.device->limits);
  return std::make_shared<MetalContext>(std::move(found.device));
}

std::string unavailable_reason() { return discovery().reason; }

}  // namespace traingraph::metal
