// SPDX-License-Identifier: MIT
// Transfer: copies between the host and device memory that the device's queue
// runs in its order, so that a value is read or written between two
// executions, never during one.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/condition_variable.h"
#include "runtime/memory/arena.h"

namespace traingraph {

class Transfer final : public Submission,
                       public std::enable_shared_from_this<Transfer> {
 public:
  explicit Transfer(std::shared_ptr<DeviceContext> context);

  void read(const DeviceBytes& from);
  void write(const DeviceBytes& to, std::span<const std::byte> data);
  /// The transfer keeps itself alive until it is over, even without a wait().
  void submit();
  /// Can be interrupted. Rethrows the error of an execution that should have
  /// computed the bytes.
  void wait();
  /// Waits for a caller that holds a lock: it cannot be interrupted.
  void wait_through();
  /// Returns what the i-th call of read() got, after wait().
  std::span<const std::byte> bytes(std::size_t i) const;

  std::exception_ptr blocked() noexcept override;
  bool is_waiting() noexcept override;
  void finished(std::exception_ptr error, double seconds) noexcept override;

 private:
  HostLocation stage(const DeviceBytes& device);

  std::shared_ptr<DeviceContext> context_;
  std::vector<Upload> to_upload_;
  std::vector<Download> to_download_;
  std::vector<DeviceBytes> device_;
  std::vector<std::shared_ptr<StagingBuffer>> staging_;
  std::shared_ptr<Transfer> self_;
  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::exception_ptr error_;
};

/// Who holds a lock waits through: signal handlers may want it.
enum class Waiting { CanBeInterrupted, Through };

/// Copies the newest value into `out`, which has room for `whole`: of a smaller
/// batch its samples, where `whole` has its first ones, and zeros elsewhere.
void read_device(DeviceStorage& storage, const TensorDescriptor& whole,
                 std::span<std::byte> out,
                 Waiting waiting = Waiting::CanBeInterrupted);
void write_device(DeviceStorage& storage, std::span<const std::byte> data);

/// Copies into a tensor's host data, which is allocated when there is none, and
/// not written when it is the same: others may be reading it.
void store_host(TensorState& tensor, std::span<const std::byte> bytes);

/// The host data of a tensor becomes its newest value, if a device has it.
/// Whoever reads host data of tensors that others may train calls this before.
void refresh_host(const Tensor& tensor,
                  Waiting waiting = Waiting::CanBeInterrupted);
/// Refreshes the host's copies of an optimizer's buffers, for a caller that
/// holds a lock.
void refresh_slots(const Tensor& parameter);

}  // namespace traingraph
