// SPDX-License-Identifier: MIT
#include "runtime/exchange/process_group.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>
#include <vector>

#include "runtime/collective/rank_text.h"
#include "runtime/device/device_wait.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

using Clock = std::chrono::steady_clock;

Clock::time_point after(double seconds) {
  constexpr double kForever = 1e9;
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(
             std::chrono::duration<double>(std::min(seconds, kForever)));
}

/// The others may be in their last step, too.
Clock::time_point after_exit() {
  constexpr double kPatience = 10;  // seconds
  static const Clock::time_point end = after(kPatience);
  return end;
}

std::string what_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an unknown error";
  }
}

}  // namespace

std::int32_t count_compiled(const std::shared_ptr<Collective>& collective) {
  struct Count {
    std::weak_ptr<Collective> collective;
    std::int32_t graphs = 0;
  };
  static std::mutex mutex;
  static auto* const counts = new std::vector<Count>;  // never destroyed
  const std::scoped_lock lock(mutex);
  std::erase_if(*counts,
                [](const Count& count) { return count.collective.expired(); });
  const auto known = std::ranges::find_if(*counts, [&](const Count& count) {
    return count.collective.lock() == collective;
  });
  if (known != counts->end()) return ++known->graphs;
  counts->push_back({collective, 1});
  return 1;
}

ProcessGroup::ProcessGroup(std::shared_ptr<Collective> collective,
                           double timeout)
    : collective_(std::move(collective)), timeout_(timeout) {
  if (!collective_) return;
  rank_ = collective_->rank();
  size_ = collective_->size();
}

std::string ProcessGroup::name() const { return rank_text(rank_); }

void ProcessGroup::require_healthy(const char* call) const {
  const std::scoped_lock lock(failure_->mutex);
  if (!failure_->is_there) return;
  throw StateError(
      ErrorInfo{.op = call,
                .node = name(),
                .what = "the exchange with the other processes has failed",
                .got = failure_->text,
                .hint = "Start all processes again from a checkpoint."});
}

void ProcessGroup::wait(Operation& operation, const char* call,
                        const std::function<std::string()>& what,
                        const std::function<bool()>& is_aborted) {
  Clock::time_point deadline = after(timeout_);
  const auto is_late = [&] {
    if (is_exiting()) deadline = std::min(deadline, after_exit());
    return Clock::now() >= deadline;
  };
  const auto node = [&] { return name() + ", " + what(); };
  std::exception_ptr interrupt;
  const auto stops = [&] {
    try {
      return is_late() || is_aborted();
    } catch (...) {
      interrupt = std::current_exception();
      return true;
    }
  };
  try {
    // By reference: a copy would be on the heap.
    if (operation.wait(std::ref(stops))) return;
  } catch (const Error& error) {
    throw DeviceError(ErrorInfo{.op = call,
                                .node = node(),
                                .what = "the exchange failed",
                                .got = error.what()});
  }
  if (interrupt) std::rethrow_exception(interrupt);
  if (!is_late()) {
    throw CancelledError(
        ErrorInfo{.op = call,
                  .node = node(),
                  .what = "the wait for other processes was interrupted"});
  }
  throw DeviceError(ErrorInfo{
      .op = call,
      .node = node(),
      .what = "the other processes did not come",
      .expected = is_exiting()
                      ? "an end soon, as this process exits"
                      : "an end within " + std::to_string(timeout_) + " s",
      .hint = "Has one of them ended? Start all again from a checkpoint; a "
              "larger collective_timeout waits longer."});
}

void ProcessGroup::fail(const std::exception_ptr& error) noexcept {
  if (!collective_) return;
  {
    const std::scoped_lock lock(failure_->mutex);
    if (failure_->is_there) return;
    failure_->is_there = true;
    try {
      failure_->text = what_of(error);
    } catch (const std::bad_alloc&) {
      // The failure counts without its text.
    }
  }
  collective_->abort();
}

}  // namespace traingraph
