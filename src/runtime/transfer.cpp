// SPDX-License-Identifier: MIT
#include "runtime/transfer.h"

#include <algorithm>
#include <cstring>

#include "runtime/device_wait.h"
#include "runtime/execution_state.h"

namespace traingraph {

Transfer::Transfer(std::shared_ptr<DeviceContext> context)
    : context_(std::move(context)) {}

Location Transfer::stage(const DeviceBytes& device) {
  device_.push_back(device);
  staging_.push_back(context_->allocate(device.size, "transfer"));
  return {staging_.back().get(), 0};
}

void Transfer::read(const DeviceBytes& from) {
  copies_.push_back({from.at, stage(from), from.size});
}

void Transfer::write(const DeviceBytes& to, std::span<const std::byte> data) {
  const Location staged = stage(to);
  const std::size_t size = std::min(to.size, data.size());
  std::memcpy(staged.host(), data.data(), size);
  copies_.push_back({staged, to.at, size});
}

void Transfer::submit() {
  copies_after = copies_;  // skipped when there is nothing valid to read
  require_device_threads();
  self_ = shared_from_this();
  context_->submit(*this);
}

void Transfer::wait() {
  std::unique_lock lock(mutex_);
  wait_for_device(over_, lock, [this] { return is_over_; });
  if (error_) std::rethrow_exception(error_);
}

std::span<const std::byte> Transfer::bytes(std::size_t i) const {
  return {staging_[i]->host(), device_[i].size};
}

std::exception_ptr Transfer::blocked() noexcept {
  for (const DeviceBytes& device : device_) {
    if (!device.computed_by) continue;
    if (auto error = device.computed_by->error()) return error;
  }
  return nullptr;
}

bool Transfer::is_waiting() noexcept {
  return std::ranges::any_of(device_, [](const DeviceBytes& device) {
    return device.computed_by && !device.computed_by->is_done();
  });
}

void Transfer::finished(std::exception_ptr error, double) noexcept {
  const std::shared_ptr<Transfer> self = std::move(self_);
  std::scoped_lock lock(mutex_);
  error_ = std::move(error);
  is_over_ = true;
  over_.notify_all();
}

std::size_t read_device(DeviceStorage& storage, std::span<std::byte> out) {
  const auto transfer = std::make_shared<Transfer>(storage.context);
  storage.visit([&](const DeviceBytes& from) {
    transfer->read(from);
    transfer->submit();
  });
  transfer->wait();
  const auto bytes = transfer->bytes(0);
  const std::size_t size = std::min(bytes.size(), out.size());
  std::memcpy(out.data(), bytes.data(), size);
  return size;
}

void write_device(DeviceStorage& storage, std::span<const std::byte> data) {
  const auto transfer = std::make_shared<Transfer>(storage.context);
  storage.visit([&](const DeviceBytes& to) {
    transfer->write(to, data);
    transfer->submit();
  });
  transfer->wait();
}

void store_host(TensorState& tensor, std::span<const std::byte> bytes) {
  std::scoped_lock lock(tensor.mutex);
  const HostData& data = ensure_host(tensor);
  std::memcpy(data.bytes, bytes.data(), std::min(data.size, bytes.size()));
}

}  // namespace traingraph
