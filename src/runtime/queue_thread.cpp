// SPDX-License-Identifier: MIT
#include "runtime/queue_thread.h"

#include <chrono>
#include <cstring>

#include "runtime/device_wait.h"
#include "runtime/start_thread.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

void run_copies(std::span<const Copy> copies) {
  for (const Copy& copy : copies) {
    std::memcpy(copy.to.host(), copy.from.host(), copy.bytes);
  }
}

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
  while (!is_busy_ && num_finished_ < submission.ticket) process_first(lock);
  // What others submitted meanwhile, or an own submission behind theirs.
  if (head_) not_empty_.notify_one();
}

void QueueThread::drain() {
  require_device_threads();  // who held the mutex is gone, too
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

void run_on_host(Submission& submission, RunUnits run) {
  const auto start = std::chrono::steady_clock::now();
  run_copies(submission.copies_before);
  std::exception_ptr error = submission.blocked();
  if (!error) {
    try {
      if (submission.work) run(*submission.work, submission.unit_seconds);
      run_copies(submission.copies_after);
    } catch (...) {
      error = std::current_exception();
    }
  }
  const std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  // The submission may be gone after this call.
  submission.finished(std::move(error), seconds.count());
}

}  // namespace traingraph
