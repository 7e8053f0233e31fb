// SPDX-License-Identifier: MIT
#include "runtime/device/callback_thread.h"

#include <cstdio>
#include <exception>
#include <mutex>

#include "base/condition_variable.h"
#include "runtime/device/device_wait.h"
#include "runtime/device/start_thread.h"

namespace traingraph {
namespace {

class CallbackThread {
 public:
  CallbackThread() {
    start_thread("callbacks", [this] { loop(); }).detach();
    note_device_thread();
  }

  void post(Callbacks& callbacks) noexcept {
    {
      std::scoped_lock lock(mutex_);
      queue_.splice(queue_.end(), callbacks);
    }
    changed_.notify_one();
  }

 private:
  void loop() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return !queue_.empty(); });
      Callbacks callbacks;
      callbacks.swap(queue_);
      lock.unlock();
      call_callbacks(std::move(callbacks));
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Callbacks queue_;
};

/// It is never destroyed: callbacks may still arrive while the process exits.
CallbackThread& callback_thread() {
  static auto* thread = new CallbackThread;
  return *thread;
}

void call(const std::function<void()>& callback) noexcept {
  try {
    callback();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "traingraph: a completion callback threw: %s\n",
                 error.what());
  } catch (...) {
    std::fprintf(stderr, "traingraph: a completion callback threw\n");
  }
}

}  // namespace

void add_callback(Callbacks& callbacks, std::function<void()> callback) {
  callback_thread();
  callbacks.push_back(std::move(callback));
}

void post_callbacks(Callbacks callbacks) noexcept {
  if (!callbacks.empty()) callback_thread().post(callbacks);
}

void call_callbacks(Callbacks callbacks) noexcept {
  for (; !callbacks.empty(); callbacks.pop_front()) call(callbacks.front());
}

}  // namespace traingraph
