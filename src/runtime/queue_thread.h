// SPDX-License-Identifier: MIT
// QueueThread: one worker thread that runs submissions in order. The queue of
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
  /// `run` executes the units of a submission and may throw.
  using Run = void (*)(BoundUnits& work, std::span<double> unit_seconds);

  explicit QueueThread(Run run);
  /// Finishes what is queued, then joins.
  ~QueueThread();

  void submit(Submission& submission);
  void drain();

 private:
  void loop();
  void process(Submission& submission);

  Run run_;
  std::mutex mutex_;
  std::condition_variable not_empty_, finished_;
  Submission* head_ = nullptr;
  Submission* tail_ = nullptr;
  std::uint64_t num_submitted_ = 0, num_finished_ = 0;
  int num_draining_ = 0;
  bool stops_ = false;
  std::thread thread_;
};

}  // namespace traingraph
