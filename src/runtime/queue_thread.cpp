// SPDX-License-Identifier: MIT
#include "runtime/queue_thread.h"

#include <chrono>
#include <cstring>

namespace traingraph {
namespace {

void run_copies(std::span<const Copy> copies) {
  for (const Copy& copy : copies) {
    std::memcpy(copy.to.host(), copy.from.host(), copy.bytes);
  }
}

}  // namespace

QueueThread::QueueThread(Run run) : run_(run), thread_([this] { loop(); }) {}

QueueThread::~QueueThread() {
  {
    std::scoped_lock lock(mutex_);
    stops_ = true;
  }
  not_empty_.notify_one();
  thread_.join();
}

void QueueThread::submit(Submission& submission) {
  {
    std::scoped_lock lock(mutex_);
    submission.next = nullptr;
    (tail_ ? tail_->next : head_) = &submission;
    tail_ = &submission;
    ++num_submitted_;
  }
  not_empty_.notify_one();
}

void QueueThread::drain() {
  std::unique_lock lock(mutex_);
  ++num_draining_;
  const std::uint64_t target = num_submitted_;
  finished_.wait(lock, [&] { return num_finished_ >= target; });
  --num_draining_;
}

void QueueThread::loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    not_empty_.wait(lock, [this] { return head_ || stops_; });
    if (!head_) return;
    Submission& submission = *head_;
    head_ = submission.next;
    if (!head_) tail_ = nullptr;
    lock.unlock();
    process(submission);
    lock.lock();
    ++num_finished_;
    if (num_draining_ > 0) finished_.notify_all();
  }
}

void QueueThread::process(Submission& submission) {
  const auto start = std::chrono::steady_clock::now();
  std::exception_ptr error = submission.blocked();
  if (!error) {
    try {
      run_copies(submission.copies_before);
      if (submission.work) run_(*submission.work, submission.unit_seconds);
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
