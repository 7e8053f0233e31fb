// SPDX-License-Identifier: MIT
// QueueThread: one worker thread that takes submissions in order. The queue of
// every backend whose work runs on host threads (CPU, null).
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "runtime/device_context.h"

namespace traingraph {

class QueueThread {
 public:
  /// Must see to it that finished() is called, now or later; never throws.
  using Process = std::function<void(Submission&)>;

  explicit QueueThread(Process process);
  /// Finishes what is queued, then joins.
  ~QueueThread();

  void submit(Submission& submission);
  /// Waits until everything submitted so far was processed.
  void drain();
  /// What is not processed yet, and all that comes, ends with a StateError.
  void close();

 private:
  void loop();

  Process process_;
  std::mutex mutex_;
  std::condition_variable not_empty_, finished_;
  Submission* head_ = nullptr;
  Submission* tail_ = nullptr;
  std::uint64_t num_submitted_ = 0, num_finished_ = 0;
  int num_draining_ = 0;
  bool stops_ = false, is_closed_ = false;
  std::thread thread_;
};

/// Executes units; may throw.
using RunUnits = void (*)(BoundUnits& work, std::span<double> unit_seconds);
/// The Process of devices that compute on the queue's thread.
void run_on_host(Submission& submission, RunUnits run);

}  // namespace traingraph
