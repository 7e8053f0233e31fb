// SPDX-License-Identifier: MIT
// The thread that calls handlers, and the tricks that control.h plays on it.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "emulator/control.h"
#include "faults.h"
#include "work_queue.h"

namespace emulator {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kGroupPatience = std::chrono::milliseconds(20);

class CompletionThread {
 public:
  static CompletionThread& instance() {
    static CompletionThread* const thread = new CompletionThread;
    return *thread;
  }

  void post(std::function<void()> job) {
    std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    changed_.notify_all();
  }

  void post_completion(std::function<void()> job) {
    const auto delay = std::chrono::duration<double>(completion_delay());
    const auto due =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(delay);
    std::lock_guard lock(mutex_);
    completions_.push_back({due, std::move(job)});
    changed_.notify_all();
  }

  void expect_completion() {
    std::lock_guard lock(mutex_);
    ++expected_;
  }

  void wait_until_idle() {
    std::unique_lock lock(mutex_);
    changed_.wait(
        lock, [&] { return expected_ == 0 && jobs_.empty() && !is_running_; });
  }

 private:
  struct Completion {
    Clock::time_point due;
    std::function<void()> job;
  };

  CompletionThread() {
    std::thread([this] {
      enter_thread();
      run();
    }).detach();
  }

  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      take_completions();
      if (jobs_.empty()) {
        if (completions_.empty()) {
          changed_.wait(lock);
        } else {
          changed_.wait_until(lock, next_time());
        }
        continue;
      }
      std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      is_running_ = true;
      lock.unlock();
      in_pool([&] {
        job();
        job = nullptr;
      });
      lock.lock();
      is_running_ = false;
      changed_.notify_all();
    }
  }

  Clock::time_point next_time() const {
    const auto due = completions_.front().due;
    return due > Clock::now() ? due : due + kGroupPatience;
  }

  /// Moves what is due to jobs_: groups in reverse order.
  void take_completions() {
    const std::size_t group = std::max(1, completion_group());
    const auto now = Clock::now();
    while (!completions_.empty() && completions_.front().due <= now) {
      const bool is_full =
          completions_.size() >= group && completions_[group - 1].due <= now;
      if (!is_full && completions_.front().due + kGroupPatience > now) return;
      const std::size_t count = std::min(group, completions_.size());
      for (std::size_t i = count; i-- > 0;) {
        jobs_.push_back(std::move(completions_[i].job));
      }
      expected_ -= count;
      completions_.erase(completions_.begin(), completions_.begin() + count);
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  std::deque<Completion> completions_;
  std::size_t expected_ = 0;  // completions that are not among the jobs yet
  bool is_running_ = false;
};

}  // namespace

void post(std::function<void()> job) {
  CompletionThread::instance().post(std::move(job));
}

void post_completion(std::function<void()> job) {
  CompletionThread::instance().post_completion(std::move(job));
}

void expect_completion() { CompletionThread::instance().expect_completion(); }

void wait_until_idle() { CompletionThread::instance().wait_until_idle(); }

}  // namespace emulator
