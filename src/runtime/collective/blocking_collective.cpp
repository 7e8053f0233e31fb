// SPDX-License-Identifier: MIT
// The thread of a BlockingCollective and its queue. What the thread touches is
// its own, shared with the object: `done` may drop the last reference to the
// object, which then goes on this very thread.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/condition_variable.h"
#include "runtime/device/start_thread.h"
#include "traingraph/collective.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

/// So many operations may wait before the queue grows.
constexpr std::size_t kFirstCapacity = 64;

DeviceError ended_error(const char* op, const char* what) {
  return DeviceError(ErrorInfo{.op = op, .what = what});
}

void require_parts(const char* op, std::size_t whole, std::size_t part,
                   int size) {
  const std::size_t expected = part * static_cast<std::size_t>(size);
  if (whole == expected) return;
  throw InvalidArgument(
      ErrorInfo{.op = op,
                .what = "the whole is not as long as the parts of all ranks",
                .expected = std::to_string(expected),
                .got = std::to_string(whole)});
}

void require_root(int root, int size) {
  if (root >= 0 && root < size) return;
  throw InvalidArgument(
      ErrorInfo{.op = "broadcast",
                .what = "there is no such rank",
                .expected = "0 to " + std::to_string(size - 1),
                .got = std::to_string(root)});
}

void call(const Collective::Done& done, std::exception_ptr error) noexcept {
  try {
    done(std::move(error));
  } catch (...) {
    std::fputs("traingraph: the `done` of a collective operation threw\n",
               stderr);
  }
}

}  // namespace

struct BlockingCollective::Task {
  using Run = void (*)(BlockingCollective&, const Task&);

  const char* op = "";
  Run run = nullptr;
  std::span<float> values = {};
  std::span<const std::byte> part_bytes = {};
  std::span<std::byte> bytes = {};
  int root = 0;
  Done done = nullptr;
};

class BlockingCollective::Thread {
 public:
  explicit Thread(BlockingCollective& owner) : owner_(owner) {}

  static void start(const std::shared_ptr<Thread>& self) {
    self->thread_ =
        start_thread("collective operations", [self] { self->loop(); });
  }

  void post(Task task) {
    if (is_forked()) {
      return call(task.done, std::make_exception_ptr(ended_error(
                                 task.op,
                                 "this process was forked from the one that "
                                 "has the collective")));
    }
    {
      std::unique_lock lock(mutex_);
      if (!is_stopped_) {
        push(std::move(task));
        changed_.notify_all();
        return;
      }
    }
    call(task.done, std::make_exception_ptr(
                        ended_error(task.op, "the collective was destroyed")));
  }

  void abort() noexcept {
    // It is set before the lock, as it is read where locks would cost.
    is_aborted_ = true;
  }
  bool is_aborted() const noexcept { return is_aborted_; }

  /// Refuses operations from now on, and returns whether one is under way.
  bool refuse() noexcept {
    if (is_forked()) return false;
    const std::scoped_lock lock(mutex_);
    is_stopped_ = true;
    return num_tasks_ > 0 || is_running_;
  }

  /// See stop_within(); waits without end without `patience`.
  bool stop(std::optional<std::chrono::milliseconds> patience) noexcept {
    // The thread stayed with the parent, and whoever held the mutex, too.
    if (is_forked()) {
      if (thread_.joinable()) thread_.detach();
      return false;
    }
    std::unique_lock lock(mutex_);
    is_stopped_ = true;
    changed_.notify_all();
    if (!thread_.joinable()) return true;
    if (thread_.get_id() == std::this_thread::get_id()) {
      thread_.detach();
      return true;
    }
    const auto is_over = [this] { return is_over_; };
    if (!patience) {
      changed_.wait(lock, is_over);
    } else if (!changed_.wait_for(lock, *patience, is_over)) {
      return false;
    }
    lock.unlock();
    thread_.join();
    return true;
  }

 private:
  bool is_forked() const noexcept { return process_ != ::getpid(); }

  /// A ring, which allocates only when more waits than ever before.
  void push(Task task) {
    if (num_tasks_ == ring_.size()) {
      std::vector<Task> larger(ring_.size() * 2);
      for (std::size_t i = 0; i < num_tasks_; ++i) {
        larger[i] = std::move(ring_[(first_ + i) % ring_.size()]);
      }
      ring_.swap(larger);
      first_ = 0;
    }
    ring_[(first_ + num_tasks_++) % ring_.size()] = std::move(task);
  }

  Task pop() {
    Task task = std::exchange(ring_[first_], Task());
    first_ = (first_ + 1) % ring_.size();
    --num_tasks_;
    return task;
  }

  void loop() noexcept {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return num_tasks_ > 0 || is_stopped_; });
      if (num_tasks_ == 0) break;
      {
        // Gone with its `done`, unlocked: that may drop the collective.
        const Task task = pop();
        const bool may_run = !is_stopped_ && !is_aborted_;
        is_running_ = may_run;
        lock.unlock();
        finish(task, may_run);
      }
      lock.lock();
    }
    is_over_ = true;
    changed_.notify_all();
  }

  void finish(const Task& task, bool may_run) noexcept {
    std::exception_ptr error;
    try {
      if (!may_run) {
        throw ended_error(task.op, is_stopped_now()
                                       ? "the collective was destroyed"
                                       : "this rank has given up");
      }
      task.run(owner_, task);
    } catch (...) {
      error = std::current_exception();
    }
    is_running_ = false;  // before somebody knows
    call(task.done, std::move(error));
  }

  bool is_stopped_now() {
    std::scoped_lock lock(mutex_);
    return is_stopped_;
  }

  BlockingCollective& owner_;  // lives at least until is_over_ or is_stopped_
  const pid_t process_ = ::getpid();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Task> ring_ = std::vector<Task>(kFirstCapacity);
  std::size_t first_ = 0, num_tasks_ = 0;
  std::atomic<bool> is_aborted_{false}, is_running_{false};
  bool is_stopped_ = false, is_over_ = false;
  std::thread thread_;
};

BlockingCollective::BlockingCollective()
    : thread_(std::make_shared<Thread>(*this)) {
  Thread::start(thread_);
}

BlockingCollective::~BlockingCollective() { thread_->stop(std::nullopt); }

void BlockingCollective::all_reduce(std::span<float> values, Done done) {
  thread_->post(
      {.op = "all_reduce",
       .run = [](BlockingCollective& self,
                 const Task& task) { self.all_reduce_now(task.values); },
       .values = values,
       .done = std::move(done)});
}

void BlockingCollective::all_gather(std::span<const std::byte> part,
                                    std::span<std::byte> all, Done done) {
  thread_->post({.op = "all_gather",
                 .run =
                     [](BlockingCollective& self, const Task& task) {
                       require_parts(task.op, task.bytes.size(),
                                     task.part_bytes.size(), self.size());
                       self.all_gather_now(task.part_bytes, task.bytes);
                     },
                 .part_bytes = part,
                 .bytes = all,
                 .done = std::move(done)});
}

void BlockingCollective::broadcast(std::span<std::byte> bytes, int root,
                                   Done done) {
  thread_->post({.op = "broadcast",
                 .run =
                     [](BlockingCollective& self, const Task& task) {
                       require_root(task.root, self.size());
                       self.broadcast_now(task.bytes, task.root);
                     },
                 .bytes = bytes,
                 .root = root,
                 .done = std::move(done)});
}

void BlockingCollective::abort() noexcept { thread_->abort(); }

bool BlockingCollective::is_aborted() const noexcept {
  return thread_->is_aborted();
}

void BlockingCollective::stop() noexcept {
  if (thread_->refuse()) abort();
  thread_->stop(std::nullopt);
}

bool BlockingCollective::stop_within(
    std::chrono::milliseconds patience) noexcept {
  if (thread_->refuse()) abort();
  return thread_->stop(patience);
}

}  // namespace traingraph
