// SPDX-License-Identifier: MIT
#include "runtime/device/queue_thread.h"

#include "runtime/device/device_wait.h"
#include "runtime/device/start_thread.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

/// Counts while it lives. Under the queue's mutex.
struct Draining {
  explicit Draining(int& count) : count(count) { ++count; }
  ~Draining() { --count; }
  int& count;
};

std::exception_ptr closed_error() {
  return std::make_exception_ptr(
      StateError(ErrorInfo{.op = "execute", .what = "the process is exiting"}));
}

}  // namespace

QueueThread::QueueThread(Process process)
    : process_(std::move(process)),
      thread_(start_thread("a device's work", [this] { loop(); })) {
  note_device_thread();
}

QueueThread::~QueueThread() {
  {
    std::scoped_lock lock(mutex_);
    stops_ = true;
  }
  not_empty_.notify_one();
  thread_.join();
}

void QueueThread::submit(Submission& submission, bool is_helped) {
  require_device_threads();
  {
    std::scoped_lock lock(mutex_);
    submission.next = nullptr;
    (tail_ ? tail_->next : head_) = &submission;
    tail_ = &submission;
    submission.ticket = ++num_submitted_;
    if (is_helped) return;
  }
  not_empty_.notify_one();
}

void QueueThread::help(Submission& submission) {
  std::unique_lock lock(mutex_);
  const auto leave_rest = [this] {
    // The worker gets what other threads submitted meanwhile, or this
    // submission when one of theirs is being processed.
    if (head_) not_empty_.notify_one();
  };
  for (bool is_first = true; !is_busy_ && num_finished_ < submission.ticket;
       is_first = false) {
    if (is_first) {
      process_first(lock);
      continue;
    }
    // Others' work comes before, so this may take long.
    lock.unlock();
    try {
      check_interrupt();
    } catch (...) {
      lock.lock();
      leave_rest();
      throw;
    }
    lock.lock();
    if (!is_busy_ && num_finished_ < submission.ticket) process_first(lock);
  }
  leave_rest();
}

void QueueThread::drain() {
  // After a fork the mutex may be held by a thread that does not exist.
  require_device_threads();
  std::unique_lock lock(mutex_);
  const Draining draining(num_draining_);
  const std::uint64_t target = num_submitted_;
  wait_for_device(finished_, lock, [&] { return num_finished_ >= target; });
}

void QueueThread::close() {
  {
    std::scoped_lock lock(mutex_);
    is_closed_ = true;
  }
  drain();
}

void QueueThread::loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    not_empty_.wait(lock, [this] { return head_ ? !is_busy_ : stops_; });
    if (!head_) return;
    process_first(lock);
  }
}

void QueueThread::process_first(std::unique_lock<std::mutex>& lock) {
  Submission& submission = *head_;
  head_ = submission.next;
  if (!head_) tail_ = nullptr;
  const bool is_closed = is_closed_;
  is_busy_ = true;
  lock.unlock();
  if (is_closed) {
    submission.finished(closed_error(), 0);
  } else {
    process_(submission);
  }
  lock.lock();
  is_busy_ = false;
  ++num_finished_;
  if (num_draining_ > 0) finished_.notify_all();
}

}  // namespace traingraph
