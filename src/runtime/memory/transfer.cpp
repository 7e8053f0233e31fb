// SPDX-License-Identifier: MIT
#include "runtime/memory/transfer.h"

#include <algorithm>
#include <cstring>

#include "runtime/device/device_wait.h"

namespace traingraph {

Transfer::Transfer(std::shared_ptr<DeviceContext> context)
    : context_(std::move(context)) {}

HostLocation Transfer::stage(const DeviceBytes& device) {
  device_.push_back(device);
  staging_.push_back(context_->allocate_staging(device.size, "transfer"));
  return {staging_.back().get(), 0};
}

void Transfer::read(const DeviceBytes& from) {
  to_download_.push_back({from.at, stage(from), from.size});
}

void Transfer::write(const DeviceBytes& to, std::span<const std::byte> data) {
  const HostLocation staged = stage(to);
  const std::size_t size = std::min(to.size, data.size());
  std::memcpy(staged.data(), data.data(), size);
  to_upload_.push_back({staged, to.at, size});
}

void Transfer::submit() {
  uploads = to_upload_;
  downloads = to_download_;  // skipped when there is nothing valid to read
  require_device_threads();
  self_ = shared_from_this();
  context_->submit(*this);
}

void Transfer::wait() {
  std::unique_lock lock(mutex_);
  wait_for_device(over_, lock, [this] { return is_over_; });
  if (error_) std::rethrow_exception(error_);
}

void Transfer::wait_through() {
  std::unique_lock lock(mutex_);
  over_.wait(lock, [this] { return is_over_; });
  if (error_) std::rethrow_exception(error_);
}

std::span<const std::byte> Transfer::bytes(std::size_t i) const {
  const Download& download = to_download_[i];
  return {download.to.data(), download.bytes};
}

std::exception_ptr Transfer::blocked() noexcept {
  for (const DeviceBytes& device : device_) {
    if (!device.computed_by) continue;
    if (auto error = device.computed_by->failure()) return error;
  }
  return nullptr;
}

bool Transfer::is_waiting() noexcept {
  return std::ranges::any_of(device_, [](const DeviceBytes& device) {
    return device.computed_by && !device.computed_by->is_settled();
  });
}

void Transfer::finished(std::exception_ptr error, double) noexcept {
  const std::shared_ptr<Transfer> self = std::move(self_);
  if (!error) error = blocked();  // by what has failed since
  std::scoped_lock lock(mutex_);
  error_ = std::move(error);
  is_over_ = true;
  over_.notify_all();
}

namespace {

/// `part` as the corner of `whole`: rows of the last axes that both have in
/// full move together.
void copy_corner(std::span<const std::byte> from, const Shape& part,
                 std::span<std::byte> to, const TensorDescriptor& whole) {
  const Shape& shape = whole.shape;
  std::size_t row = size_of(whole.data_type);
  int axis = shape.rank() - 1;
  for (; axis >= 0 && part[axis] == shape[axis]; --axis) row *= shape[axis];
  const std::size_t run = axis < 0 ? row : row * part[axis];
  std::ranges::fill(to, std::byte{0});
  for (std::size_t at = 0; at < from.size(); at += run) {
    std::size_t rest = at / run, offset = 0;
    std::size_t stride = axis < 0 ? row : row * shape[axis];
    for (int outer = axis - 1; outer >= 0; --outer) {
      const auto size = static_cast<std::size_t>(part[outer]);
      offset += rest % size * stride;
      rest /= size;
      stride *= shape[outer];
    }
    std::memcpy(to.data() + offset, from.data() + at, run);
  }
}

}  // namespace

void read_device(DeviceStorage& storage, const TensorDescriptor& whole,
                 std::span<std::byte> out, Waiting waiting) {
  storage.context->require_not_lost("synchronize_data");
  const auto transfer = std::make_shared<Transfer>(storage.context);
  std::optional<Shape> part;
  storage.visit([&](const DeviceBytes& from) {
    part = from.shape;
    transfer->read(from);
    transfer->submit();
  });
  waiting == Waiting::Through ? transfer->wait_through() : transfer->wait();
  const auto bytes = transfer->bytes(0);
  if (part) return copy_corner(bytes, *part, out, whole);
  std::memcpy(out.data(), bytes.data(), std::min(bytes.size(), out.size()));
}

void write_device(DeviceStorage& storage, std::span<const std::byte> data) {
  storage.context->require_not_lost("set_data");
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
  const std::size_t size = std::min(data.size, bytes.size());
  if (std::memcmp(data.bytes, bytes.data(), size) == 0) return;
  std::memcpy(data.bytes, bytes.data(), size);
}

void refresh_host(const Tensor& tensor, Waiting waiting) {
  const std::shared_ptr<DeviceStorage> storage = [&] {
    std::scoped_lock lock(tensor.state()->mutex);
    return tensor.state()->device;
  }();
  if (!storage || !storage->has_value()) return;
  std::vector<std::byte> bytes(storage->bytes);
  read_device(*storage, tensor.descriptor(), bytes, waiting);
  store_host(*tensor.state(), bytes);
}

void refresh_slots(const Tensor& parameter) {
  TensorState& state = *parameter.state();
  std::vector<OptimizerSlot> slots;
  {
    std::scoped_lock lock(state.mutex);
    slots = state.slots;
  }
  const TensorDescriptor desc = slot_descriptor(state.desc);
  for (const OptimizerSlot& slot : slots) {
    const auto* device = dynamic_cast<ArenaStorage*>(slot.device.get());
    if (!slot.host.bytes || !device || !device->has_value()) continue;
    read_device(*slot.device, desc, {slot.host.bytes, slot.host.size},
                Waiting::Through);
  }
}

}  // namespace traingraph
