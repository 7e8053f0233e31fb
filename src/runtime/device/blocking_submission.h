// SPDX-License-Identifier: MIT
// BlockingSubmission: a submission whose run() returns when the device has
// finished it. It depends on no other execution.
#pragma once

#include <mutex>

#include "base/condition_variable.h"
#include "runtime/device/device_context.h"

namespace traingraph {

class BlockingSubmission final : public Submission {
 public:
  std::exception_ptr blocked() noexcept override { return nullptr; }
  bool is_waiting() noexcept override { return false; }
  void finished(std::exception_ptr error, double seconds) noexcept override {
    std::scoped_lock lock(mutex_);
    error_ = std::move(error);
    seconds_ = seconds;
    is_over_ = true;
    over_.notify_all();
  }
  /// Submits and waits. Returns the seconds on the device; throws the error of
  /// the submission.
  double run(DeviceContext& context) {
    context.submit(*this);
    std::unique_lock lock(mutex_);
    over_.wait(lock, [this] { return is_over_; });
    if (error_) std::rethrow_exception(error_);
    return seconds_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::exception_ptr error_;
  double seconds_ = 0;
};

}  // namespace traingraph
