// SPDX-License-Identifier: MIT
// QueueThread: one worker thread that takes submissions in order. The queue of
// every backend whose work runs on host threads (CPU, null). A thread that
// waits for its submission may process it itself, which saves waking the
// worker.
#pragma once

#include <functional>
#include <mutex>
#include <thread>

#include "base/condition_variable.h"
#include "runtime/device/device_context.h"

namespace traingraph {

class QueueThread {
 public:
  /// Must see to it that finished() is called, now or later; never throws.
  using Process = std::function<void(Submission&)>;

  explicit QueueThread(Process process);
  /// Finishes what is queued, then joins.
  ~QueueThread();

  /// `is_helped`: help() follows, and wakes the worker where that is due.
  void submit(Submission& submission, bool is_helped = false);
  /// See DeviceContext::help().
  void help(Submission& submission);
  /// Waits until everything submitted so far was processed.
  void drain();
  /// Ends with a StateError what is not processed yet, and all that comes.
  void close();

 private:
  void loop();
  /// Takes the first submission and processes it; the mutex is free meanwhile.
  void process_first(std::unique_lock<std::mutex>& lock);

  Process process_;
  std::mutex mutex_;
  std::condition_variable not_empty_, finished_;
  Submission* head_ = nullptr;
  Submission* tail_ = nullptr;
  std::uint64_t num_submitted_ = 0, num_finished_ = 0;
  int num_draining_ = 0;
  bool is_busy_ = false;  // a thread processes a submission
  bool stops_ = false, is_closed_ = false;
  std::thread thread_;
};

}  // namespace traingraph
