// SPDX-License-Identifier: MIT
// InFlightSubmission: a submission on its way through the GPU, as one or more
// command buffers. It completes when the last of them has completed, in
// whatever order their handlers run.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#import "metal/gpu_device.h"
#include "runtime/device/device_context.h"

namespace traingraph::metal {

/// What can be done about a command buffer that failed.
struct Recovery {
  /// The host does what it was to do; empty: that cannot be made up for.
  std::function<void()> complete = {};
  /// It changes variables in place and computes nothing else: nobody knows
  /// which of them have changed.
  bool leaves_partial_write = false;
};

class InFlightSubmission {
 public:
  /// `changed` is called after each completion, from any thread;
  /// `has_completed`: of all, and the submission was told. Failures are noted
  /// in `device`.
  InFlightSubmission(Submission& submission, const GpuDevice& device,
                     std::function<void(bool has_completed)> changed);

  /// This comes before a command buffer is committed: it will call completed().
  void will_commit();
  /// A command buffer has completed. `unit` is the position in the submission,
  /// -1 for copies.
  void completed(id<MTLCommandBuffer> buffer, int unit,
                 const std::string& label, const Recovery& recovery = {});
  /// The submission is skipped.
  void block(std::exception_ptr reason);
  /// Encoding went wrong.
  void fail(const std::string& label, const std::string& reason);
  /// No command buffer will be committed any more. Call it last.
  void close();

  enum class State { InFlight, Completed, Failed };
  /// The state is that of the command buffers committed so far.
  State state();
  /// Waits for them, but for so many of the last. False when one failed.
  bool wait_until_completed(int num_last = 0);

 private:
  void note(std::exception_ptr error);
  void give_up_share(std::unique_lock<std::mutex> lock);

  Submission& submission_;
  const GpuDevice& device_;
  std::function<void(bool)> changed_;
  std::mutex mutex_;
  std::condition_variable completed_;
  std::exception_ptr error_;
  int num_pending_ = 1;  // command buffers, and the encoding itself
  double start_ = 0, end_ = 0;
};

}  // namespace traingraph::metal
