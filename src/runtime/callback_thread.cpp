// SPDX-License-Identifier: MIT
#include "runtime/callback_thread.h"

#include <condition_variable>
#include <cstdio>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "runtime/device_wait.h"

namespace traingraph {
namespace {

class CallbackThread {
 public:
  CallbackThread() : thread_([this] { loop(); }) {
    thread_.detach();
    note_device_thread();
  }

  void post(std::function<void()> callback) {
    {
      std::scoped_lock lock(mutex_);
      queue_.push_back(std::move(callback));
      ++num_pending_;
    }
    changed_.notify_all();
  }

  void drain() {
    std::unique_lock lock(mutex_);
    if (std::this_thread::get_id() == id_) return;
    wait_for_device(changed_, lock, [this] { return num_pending_ == 0; });
  }

 private:
  void loop() {
    std::unique_lock lock(mutex_);
    id_ = std::this_thread::get_id();
    while (true) {
      changed_.wait(lock, [this] { return !queue_.empty(); });
      std::function<void()> callback = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      call_guarded(callback);
      callback = nullptr;
      lock.lock();
      if (--num_pending_ == 0) changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  std::size_t num_pending_ = 0;
  std::thread::id id_;
  std::thread thread_;
};

/// Never destroyed: callbacks may still arrive while the process exits.
CallbackThread& callback_thread() {
  static auto* thread = new CallbackThread;
  return *thread;
}

}  // namespace

void post_callback(std::function<void()> callback) {
  callback_thread().post(std::move(callback));
}

void drain_callbacks() {
  require_device_threads();
  callback_thread().drain();
}

void call_guarded(const std::function<void()>& callback) noexcept {
  try {
    callback();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "traingraph: a completion callback threw: %s\n",
                 error.what());
  } catch (...) {
    std::fprintf(stderr, "traingraph: a completion callback threw\n");
  }
}

}  // namespace traingraph
