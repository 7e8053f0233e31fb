// SPDX-License-Identifier: MIT
// The half of Tensor that touches devices.
#include <algorithm>
#include <cstring>

#include "graph/tensor_state.h"
#include "runtime/arena.h"
#include "traingraph/device.h"
#include "traingraph/error.h"
#include "traingraph/tensor.h"

namespace traingraph {
namespace {

std::shared_ptr<DeviceStorage> device_of(const TensorState& state) {
  std::scoped_lock lock(state.mutex);
  return state.device;
}

DeviceStorage& require_device(const std::shared_ptr<DeviceStorage>& storage,
                              const char* call, const TensorState& state) {
  if (storage) return *storage;
  throw StateError(
      ErrorInfo{.op = call,
                .node = state.label,
                .what = "no device holds this tensor",
                .expected = "a parameter or an output of a compiled graph",
                .hint = "Intermediate results are readable after add_outputs, "
                        "or with debug_layers."});
}

/// Device memory is stable once everything in flight is over.
Location settled(DeviceStorage& storage) {
  const Location at = storage.locate();
  storage.context->drain();
  return at;
}

void require_size(const char* call, const TensorState& state,
                  std::size_t expected, std::size_t got) {
  if (got >= expected) return;
  throw ShapeError(ErrorInfo{.op = call,
                             .node = state.label,
                             .what = "the memory is too small",
                             .expected = std::to_string(expected) + " bytes",
                             .got = std::to_string(got)});
}

}  // namespace

std::optional<Device> Tensor::device() const {
  const auto storage = device_of(*state_);
  if (!storage) return std::nullopt;
  return Device(storage->context->type());
}

void Tensor::synchronize_data() const {
  const auto storage = device_of(*state_);
  const Location at =
      settled(require_device(storage, "synchronize_data", *state_));
  const auto data = ensure_data();
  std::memcpy(data.data(), at.host(), std::min(data.size(), storage->bytes));
}

void Tensor::copy_data_from_device_memory(std::span<std::byte> out) const {
  const char* call = "copy_data_from_device_memory";
  const auto storage = device_of(*state_);
  DeviceStorage& device = require_device(storage, call, *state_);
  require_size(call, *state_, descriptor().size_bytes(), out.size());
  const Location at = settled(device);
  std::memcpy(out.data(), at.host(), descriptor().size_bytes());
}

void Tensor::bind_and_write_data(const TensorData& data,
                                 const Device& device) const {
  set_data(data);
  const auto storage = device_of(*state_);
  if (!storage || storage->context != device.context()) return;
  const Location at = settled(*storage);
  std::memcpy(at.host(), this->data().data(), storage->bytes);
}

void Tensor::synchronize_optimizer_data() const {
  std::vector<OptimizerSlot> slots;
  {
    std::scoped_lock lock(state_->mutex);
    slots = state_->slots;
  }
  for (OptimizerSlot& slot : slots) {
    const Location at = settled(
        require_device(slot.device, "synchronize_optimizer_data", *state_));
    if (slot.host.size < slot.device->bytes) {
      slot.host = allocate_host(slot.device->bytes);
    }
    std::memcpy(slot.host.bytes, at.host(), slot.device->bytes);
  }
  std::scoped_lock lock(state_->mutex);
  state_->slots = std::move(slots);
}

void Tensor::bind_optimizer_data(std::span<const TensorData> data) const {
  const char* call = "bind_optimizer_data";
  std::vector<OptimizerSlot> slots;
  {
    std::scoped_lock lock(state_->mutex);
    slots = state_->slots;
  }
  if (slots.empty()) slots.resize(data.size());  // kept for compile
  if (data.size() != slots.size()) {
    throw InvalidArgument(
        ErrorInfo{.op = call,
                  .node = state_->label,
                  .what = "the number of buffers differs from the optimizer's",
                  .expected = std::to_string(slots.size()),
                  .got = std::to_string(data.size()),
                  .hint = "optimizer_data() lists them in order."});
  }
  const std::size_t bytes = descriptor().size_bytes();
  for (const TensorData& item : data) {
    require_size(call, *state_, bytes, item.bytes ? item.length : 0);
  }
  for (std::size_t i = 0; i < slots.size(); ++i) {
    slots[i].host = allocate_host(bytes);
    std::memcpy(slots[i].host.bytes, data[i].bytes, bytes);
    if (!slots[i].device) continue;
    const Location at = settled(*slots[i].device);
    std::memcpy(at.host(), data[i].bytes, bytes);
  }
  std::scoped_lock lock(state_->mutex);
  state_->slots = std::move(slots);
}

}  // namespace traingraph
