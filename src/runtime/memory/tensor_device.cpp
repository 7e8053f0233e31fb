// SPDX-License-Identifier: MIT
// The half of Tensor that touches devices. Every copy goes through the
// device's queue (transfer.h).
#include <algorithm>
#include <cstring>

#include "graph/require_fits.h"
#include "graph/tensor_state.h"
#include "runtime/memory/transfer.h"
#include "traingraph/device.h"
#include "traingraph/error.h"
#include "traingraph/tensor.h"

namespace traingraph {
namespace {

std::shared_ptr<DeviceStorage> device_of(const TensorState& state) {
  std::scoped_lock lock(state.mutex);
  return state.device;
}

std::vector<OptimizerSlot> slots_of(const TensorState& state) {
  std::scoped_lock lock(state.mutex);
  return state.slots;
}

/// Stores one host buffer per slot, or none when their numbers differ. Returns
/// the slots. `given` are kept for compile where no optimizer has any.
std::vector<OptimizerSlot> store_slots(TensorState& state,
                                       std::vector<OptimizerSlot> given) {
  std::scoped_lock lock(state.mutex);
  auto& slots = state.slots;
  const bool are_given = !slots.empty() && slots[0].is_given;
  if (are_given || !state.has_optimizer) {
    slots = std::move(given);
    return slots;
  }
  for (std::size_t i = 0; slots.size() == given.size() && i < given.size();
       ++i) {
    slots[i].host = std::move(given[i].host);
  }
  return slots;
}

DeviceStorage& require_device(const std::shared_ptr<DeviceStorage>& storage,
                              const char* call, const Tensor& tensor) {
  if (storage) return *storage;
  throw StateError(
      ErrorInfo{.op = call,
                .node = tensor.name(),
                .what = "no device holds this tensor",
                .expected = "a parameter or an output of a compiled graph",
                .hint = "Intermediate results are readable after add_outputs, "
                        "or with debug_layers."});
}

void require_size(const char* call, const Tensor& tensor, std::size_t got) {
  const std::size_t expected = tensor.descriptor().size_bytes();
  if (got >= expected) return;
  throw ShapeError(ErrorInfo{.op = call,
                             .node = tensor.name(),
                             .what = "the memory is too small",
                             .expected = std::to_string(expected) + " bytes",
                             .got = std::to_string(got)});
}

/// Buffers go to slots of their name, on their device; slots that are not there
/// yet get the names.
void require_buffers_fit(const Tensor& parameter,
                         std::span<const TensorOptimizerDeviceData> buffers) {
  const std::vector<OptimizerSlot> slots = slots_of(*parameter.state());
  const auto fail = [&](std::string what, std::string expected, std::string got,
                        std::string hint) {
    throw InvalidArgument(ErrorInfo{.op = "bind_optimizer_data",
                                    .node = parameter.name(),
                                    .what = std::move(what),
                                    .expected = std::move(expected),
                                    .got = std::move(got),
                                    .hint = std::move(hint)});
  };
  for (std::size_t i = 0; i < std::min(slots.size(), buffers.size()); ++i) {
    if (!slots[i].device) continue;
    if (slots[i].name != buffers[i].name()) {
      fail("buffer " + std::to_string(i) + " is another one of the optimizer",
           slots[i].name, buffers[i].name(),
           "Give them in the order of optimizer_device_data().");
    }
    const DeviceContext& there = *slots[i].device->context;
    const DeviceContext& given = *buffers[i].storage()->context;
    if (&there == &given) continue;
    fail("the buffer \"" + buffers[i].name() + "\" is on another device",
         there.description(), name_beside(given, there),
         "Go through the host: optimizer_data() as data.");
  }
}

/// Reads what buffers of this or another parameter hold, after the work so far.
std::vector<OptimizerSlot> read_slots(
    const char* call, const Tensor& parameter, const TensorDescriptor& slot,
    std::span<const TensorOptimizerDeviceData> buffers) {
  std::vector<OptimizerSlot> given;
  for (const TensorOptimizerDeviceData& buffer : buffers) {
    DeviceStorage& device = *buffer.storage();
    if (device.bytes != slot.size_bytes()) {
      throw ShapeError(
          ErrorInfo{.op = call,
                    .node = parameter.name(),
                    .what = "the buffer \"" + buffer.name() +
                            "\" belongs to a parameter of another size",
                    .expected = std::to_string(slot.size_bytes()) + " bytes",
                    .got = std::to_string(device.bytes)});
    }
    HostData host = allocate_host(slot.size_bytes());
    read_device(device, slot, {host.bytes, host.size});
    given.push_back({.name = buffer.name(),
                     .host = std::move(host),
                     .device = {},
                     .is_given = true});
  }
  return given;
}

void require_count(const Tensor& parameter, std::size_t expected,
                   std::size_t got) {
  if (expected == got) return;
  throw InvalidArgument(ErrorInfo{
      .op = "bind_optimizer_data",
      .node = parameter.name(),
      .what = "the number of buffers differs from the optimizer's",
      .expected = std::to_string(expected),
      .got = std::to_string(got),
      .hint = expected == 0 ? "It keeps none of this tensor."
                            : "optimizer_data() lists them in order."});
}

}  // namespace

TensorOptimizerDeviceData::TensorOptimizerDeviceData(
    std::string name, std::shared_ptr<DeviceStorage> storage)
    : name_(std::move(name)), storage_(std::move(storage)) {}

std::size_t TensorOptimizerDeviceData::size_in_bytes() const {
  return storage_->bytes;
}

Device TensorOptimizerDeviceData::device() const {
  return Device(storage_->context);
}

std::optional<Device> Tensor::device() const {
  const auto storage = device_of(*state_);
  if (!storage) return std::nullopt;
  return Device(storage->context);
}

std::span<const std::byte> Tensor::data() const& {
  descriptor();  // there is a tensor
  refresh_host(*this);
  std::scoped_lock lock(state_->mutex);
  return {state_->data.bytes, state_->data.size};
}

bool Tensor::has_data() const {
  descriptor();
  if (has_host_data(*state_)) return true;
  const auto storage = device_of(*state_);
  return storage && storage->has_value();
}

void Tensor::copy_data(std::span<std::byte> out) const {
  const char* call = "copy_data";
  const auto storage = device_of(*state_);
  if (!has_data()) {
    if (storage) storage->visit([](const DeviceBytes&) {});  // it says why
    throw StateError(
        ErrorInfo{.op = call,
                  .node = name(),
                  .what = "tensor has no data on the host or on a device",
                  .expected = {},
                  .got = {},
                  .hint = "Declare a result with add_outputs and read it from "
                          "the ExecutionResult."});
  }
  require_size(call, *this, out.size());
  const std::size_t bytes = descriptor().size_bytes();
  if (storage && storage->has_value()) {
    return read_device(*storage, descriptor(), out.first(bytes));
  }
  std::scoped_lock lock(state_->mutex);
  std::memcpy(out.data(), state_->data.bytes, bytes);
}

void Tensor::synchronize_data() const {
  const auto storage = device_of(*state_);
  DeviceStorage& device = require_device(storage, "synchronize_data", *this);
  std::vector<std::byte> bytes(device.bytes);
  read_device(device, descriptor(), bytes);
  store_host(*state_, bytes);
}

void Tensor::copy_data_from_device_memory(std::span<std::byte> out) const {
  const char* call = "copy_data_from_device_memory";
  const auto storage = device_of(*state_);
  DeviceStorage& device = require_device(storage, call, *this);
  require_size(call, *this, out.size());
  read_device(device, descriptor(), out.first(descriptor().size_bytes()));
}

void Tensor::set_data(const TensorData& data) const {
  const std::size_t size = descriptor().size_bytes();
  if (state_->is_result) {
    throw StateError(
        ErrorInfo{.op = "set_data",
                  .node = name(),
                  .what = "the tensor is a result, which executions compute",
                  .expected = "an input, a parameter or a constant"});
  }
  // The host's copy first: an arena that is being allocated takes it.
  set_host(*state_, data);
  forget_initializer(*state_);
  const auto storage = device_of(*state_);
  if (storage && storage->holds_value()) {
    write_device(*storage, {data.bytes, size});
  }
}

void Tensor::bind_and_write_data(const TensorData& data, const Device&) const {
  set_data(data);
}

void Tensor::synchronize_optimizer_data() const {
  std::vector<OptimizerSlot> slots = slots_of(*state_);
  for (OptimizerSlot& slot : slots) {
    DeviceStorage& device =
        require_device(slot.device, "synchronize_optimizer_data", *this);
    if (slot.host.size < device.bytes) slot.host = allocate_host(device.bytes);
    read_device(device, slot_descriptor(descriptor()),
                {slot.host.bytes, device.bytes});
  }
  std::scoped_lock lock(state_->mutex);
  // A compile meanwhile may have replaced the slots.
  for (std::size_t i = 0; i < slots.size() && i < state_->slots.size(); ++i) {
    OptimizerSlot& now = state_->slots[i];
    if (now.device == slots[i].device) now.host = std::move(slots[i].host);
  }
}

std::vector<OptimizerData> Tensor::optimizer_data() const {
  const TensorDescriptor desc = slot_descriptor(descriptor());
  std::vector<OptimizerData> result;
  for (const OptimizerSlot& slot : slots_of(*state_)) {
    if (slot.is_given) continue;
    HostData copy = allocate_host(desc.size_bytes());
    const std::span<std::byte> bytes(copy.bytes, copy.size);
    if (slot.device && slot.device->has_value()) {
      read_device(*slot.device, desc, bytes);
    } else if (slot.host.bytes) {
      std::memcpy(copy.bytes, slot.host.bytes, copy.size);
    }
    result.push_back({slot.name, desc, bytes, std::move(copy.owner)});
  }
  return result;
}

std::vector<TensorOptimizerDeviceData> Tensor::optimizer_device_data() const {
  std::vector<TensorOptimizerDeviceData> result;
  for (OptimizerSlot& slot : slots_of(*state_)) {
    if (!slot.device) continue;
    result.emplace_back(std::move(slot.name), std::move(slot.device));
  }
  return result;
}

void Tensor::bind_optimizer_data(
    std::span<const TensorData> data,
    std::span<const TensorOptimizerDeviceData> device_data) const {
  const char* call = "bind_optimizer_data";
  const TensorDescriptor desc = slot_descriptor(descriptor());
  const std::size_t bytes = desc.size_bytes();
  if (state_->is_result) {
    throw InvalidArgument(ErrorInfo{.op = call,
                                    .node = name(),
                                    .what = "no optimizer trains a result",
                                    .expected = "a parameter",
                                    .got = "the result of a node"});
  }
  std::vector<OptimizerSlot> given;
  for (const TensorData& item : data) {
    require_fits(call, name(), item,
                 {.desc = desc, .name = "the optimizer's buffer"});
    given.push_back({.name = {},
                     .host = allocate_host(bytes),
                     .device = {},
                     .is_given = true});
    std::memcpy(given.back().host.bytes, item.bytes, bytes);
  }
  if (!device_data.empty()) {
    if (!data.empty()) require_count(*this, device_data.size(), data.size());
    require_buffers_fit(*this, device_data);
    given = read_slots(call, *this, desc, device_data);
  }
  // Throws where processes share them out: nothing is stored then.
  for (const OptimizerSlot& slot : slots_of(*state_)) {
    if (slot.device) slot.device->visit([](const DeviceBytes&) {});
  }
  const std::vector<OptimizerSlot> slots = store_slots(*state_, given);
  require_count(*this, slots.size(), given.size());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const HostData& host = given[i].host;
    if (slots[i].device) write_device(*slots[i].device, {host.bytes, bytes});
  }
}

}  // namespace traingraph
