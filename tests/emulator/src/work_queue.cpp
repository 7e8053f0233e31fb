// SPDX-License-Identifier: MIT
#include "work_queue.h"

#include <chrono>
#include <thread>
#include <utility>

#include "faults.h"

namespace emulator {
namespace {

constexpr auto kLongTime = std::chrono::seconds(10);

double now() {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(time).count();
}

}  // namespace

void Work::wait_for(int at_least) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return status >= at_least; });
}

bool WorkQueue::acquire_place() {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, kLongTime,
                         [&] { return places_taken_ < max_count_; })) {
    return false;
  }
  ++places_taken_;
  return true;
}

void WorkQueue::release_place() {
  std::lock_guard lock(mutex_);
  --places_taken_;
  changed_.notify_all();
}

void WorkQueue::enqueue(const std::shared_ptr<Work>& work) {
  std::lock_guard lock(mutex_);
  {
    std::lock_guard work_lock(work->mutex);
    work->status = kEnqueued;
  }
  queue_.push_back(work);
}

void WorkQueue::commit(const std::shared_ptr<Work>& work) {
  bool is_enqueued;
  {
    std::lock_guard lock(work->mutex);
    is_enqueued = work->status == kEnqueued;
  }
  if (!is_enqueued) enqueue(work);
  expect_completion();
  std::lock_guard lock(mutex_);
  {
    std::lock_guard work_lock(work->mutex);
    work->status = kCommitted;
  }
  work->changed.notify_all();
  changed_.notify_all();
  if (has_thread_) return;
  has_thread_ = true;
  std::thread([self = shared_from_this()] {
    enter_thread();
    self->run();
    leave_thread();
  }).detach();
}

void WorkQueue::stop() {
  std::lock_guard lock(mutex_);
  is_stopping_ = true;
  changed_.notify_all();
}

void WorkQueue::run() {
  while (true) {
    std::shared_ptr<Work> work;
    {
      std::unique_lock lock(mutex_);
      auto is_ready = [&] {
        if (queue_.empty()) return is_stopping_;
        std::lock_guard work_lock(queue_.front()->mutex);
        return queue_.front()->status == kCommitted;
      };
      changed_.wait(lock, is_ready);
      if (queue_.empty()) return;
      work = queue_.front();
      queue_.pop_front();
    }
    in_pool([&] { execute(*work); });
    release_place();
    post_completion([work] {
      for (auto& handler : work->completed) handler();
      work->completed.clear();
      if (work->release) std::exchange(work->release, nullptr)();
    });
  }
}

void WorkQueue::execute(Work& work) {
  {
    std::lock_guard lock(work.mutex);
    work.status = kScheduled;
    work.start = now();
  }
  work.changed.notify_all();
  for (auto& handler : work.scheduled) post(std::move(handler));
  work.scheduled.clear();

  wait_while_held();
  const CommandBufferFault fault = meets_command_buffer_fault();
  int error = is_dead_ ? kIgnoredError : 0;
  int num_done = 0;
  for (const Command& command : work.commands) {
    if (fault.code && num_done++ == fault.commands) break;
    if (error) break;
    error = command();
  }
  work.commands.clear();
  if (!error) error = fault.code;
  if (error && ignores_after_failure()) is_dead_ = true;
  count_command_buffer();
  {
    std::lock_guard lock(work.mutex);
    work.end = now();
    work.error = error;
    work.error_text = fault.text;
    work.status = error ? kError : kCompleted;
  }
  work.changed.notify_all();
}

}  // namespace emulator
