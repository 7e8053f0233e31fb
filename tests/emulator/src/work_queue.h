// SPDX-License-Identifier: MIT
// The device's side of command queues: one thread per queue runs the work in
// order, one more thread calls all handlers. Plain C++.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace emulator {

// Values of MTLCommandBufferStatus and MTLCommandBufferError.
inline constexpr int kNotEnqueued = 0;
inline constexpr int kEnqueued = 1;
inline constexpr int kCommitted = 2;
inline constexpr int kScheduled = 3;
inline constexpr int kCompleted = 4;
inline constexpr int kError = 5;
inline constexpr int kInternalError = 1;
inline constexpr int kTimeoutError = 2;
inline constexpr int kIgnoredError = 4;
inline constexpr int kInvalidResourceError = 9;

/// Returns the error that ends the command buffer; 0 to go on.
using Command = std::function<int()>;

/// What a command buffer is while it is encoded and runs.
struct Work {
  std::mutex mutex;
  std::condition_variable changed;
  int status = kNotEnqueued;
  int error = 0;
  std::string error_text;
  double start = 0, end = 0;
  std::vector<Command> commands;
  std::vector<std::function<void()>> scheduled, completed;
  /// Called after the handlers.
  std::function<void()> release;

  void wait_for(int at_least);
};

class WorkQueue : public std::enable_shared_from_this<WorkQueue> {
 public:
  explicit WorkQueue(std::size_t max_count) : max_count_(max_count) {}

  /// Takes one of the places for command buffers that are not completed; false
  /// when none gets free for a long time.
  bool acquire_place();
  void release_place();

  void enqueue(const std::shared_ptr<Work>& work);
  /// Enqueues if necessary.
  void commit(const std::shared_ptr<Work>& work);
  /// The queue's thread ends when the work is done.
  void stop();

 private:
  void run();
  void execute(Work& work);

  const std::size_t max_count_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Work>> queue_;
  std::size_t places_taken_ = 0;
  bool has_thread_ = false;
  bool is_stopping_ = false;
  bool is_dead_ = false;  // of the queue's thread
};

/// Calls `job` on the thread of handlers: soon, or as a completion, which may
/// be delayed and reordered by control.h.
void post(std::function<void()> job);
void post_completion(std::function<void()> job);
/// One more completion will be posted.
void expect_completion();

/// Runs `body` within an autorelease pool, on a thread that Objective-C knows.
void in_pool(const std::function<void()>& body);
void enter_thread();
void leave_thread();

}  // namespace emulator
