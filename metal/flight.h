// SPDX-License-Identifier: MIT
// Flight: a submission on its way through the GPU, as one or more command
// buffers. It lands when the last of them has completed, in whatever order
// their handlers run.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#import "metal/apple.h"
#include "runtime/device/device_context.h"

namespace traingraph::metal {

class Flight {
 public:
  /// `when_landed` is called after the submission was told, from any thread;
  /// `num_failures` goes up when the flight fails.
  Flight(Submission& submission, std::exception_ptr blocked,
         std::atomic<std::uint64_t>& num_failures,
         std::function<void()> when_landed);

  /// Before a command buffer is committed: it will call land().
  void launch();
  /// A command buffer has completed. `unit` is the position in the submission,
  /// -1 for copies.
  void land(id<MTLCommandBuffer> buffer, int unit, const std::string& label);
  /// Encoding ended with an exception; empty: it ended well. Call it last.
  void encoded(const std::string& exception, const std::string& label);

  /// Waits for the command buffers launched so far. False when one failed.
  bool wait_until_landed();

 private:
  void fail(std::exception_ptr error);
  void give_up_share(std::unique_lock<std::mutex> lock);

  Submission& submission_;
  std::atomic<std::uint64_t>& num_failures_;
  std::function<void()> when_landed_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::exception_ptr error_;
  int num_pending_ = 1;  // command buffers, and the encoding itself
  double start_ = 0, end_ = 0;
};

}  // namespace traingraph::metal
