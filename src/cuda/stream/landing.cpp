// SPDX-License-Identifier: MIT
#include "cuda/stream/landing.h"

#include <atomic>
#include <chrono>
#include <utility>

#include "base/backoff.h"
#include "cuda/cuda_error.h"
#include "runtime/device/device_wait.h"
#include "runtime/device/start_thread.h"

namespace traingraph::cuda {
namespace {

/// Waiting threads poll for so long; then their own device thread does.
constexpr std::chrono::microseconds kWatchTime{200};
/// The driver is asked whether the card is lost in waits longer than this.
constexpr std::chrono::milliseconds kLookForLoss{2};
constexpr double kSecondsPerTick = 1e-9;

}  // namespace

Landing::Landing(CudaStream& stream, Lose lose)
    : stream_(stream),
      lose_(std::move(lose)),
      receipts_(stream.shared_card(), kMaxInTheAir * sizeof(Receipt),
                "receipts"),
      thread_(start_thread("a card's work", [this] { loop(); })) {
  note_device_thread();
}

Landing::~Landing() {
  {
    std::scoped_lock lock(mutex_);
    stops_ = true;
  }
  to_watch_.notify_one();
  thread_.join();
}

Landing::Slot Landing::next_slot() {
  std::unique_lock lock(mutex_);
  while (num_launched_ - num_landed_ == kMaxInTheAir) wait_for_next(lock);
  const std::uint64_t ticket = num_launched_ + 1;
  return {receipts_.address() + ticket % kMaxInTheAir * sizeof(Receipt),
          ticket};
}

void Landing::launched(Submission& submission, std::exception_ptr error) {
  {
    std::scoped_lock lock(mutex_);
    ++num_launched_;
    runs_[num_launched_ % kMaxInTheAir] = {&submission, std::move(error)};
    if (num_watching_ > 0) return;
  }
  to_watch_.notify_one();
}

void Landing::land_all() {
  std::unique_lock lock(mutex_);
  while (num_landed_ < num_launched_) wait_for_next(lock);
}

Landing::Watch::Watch(Landing& landing) : landing_(landing) {
  std::scoped_lock lock(landing_.mutex_);
  ++landing_.num_watching_;
}

/// What is left, launched by whomever, is the thread's.
Landing::Watch::~Watch() {
  {
    std::scoped_lock lock(landing_.mutex_);
    --landing_.num_watching_;
    if (landing_.num_landed_ == landing_.num_launched_) return;
  }
  landing_.to_watch_.notify_one();
}

void Landing::Watch::poll() {
  std::unique_lock lock(landing_.mutex_);
  const std::uint64_t ticket = landing_.num_launched_;
  const Backoff::Clock::time_point start = Backoff::Clock::now();
  while (landing_.num_landed_ < ticket &&
         Backoff::Clock::now() - start < kWatchTime) {
    if (landing_.land(lock)) continue;
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
  }
}

void Landing::drain() {
  std::unique_lock lock(mutex_);
  const std::uint64_t target = num_launched_;
  to_watch_.notify_one();
  wait_for_device(landed_, lock, [&] { return num_landed_ >= target; });
}

void Landing::loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    to_watch_.wait(lock, [this] {
      return stops_ || (num_landed_ < num_launched_ && num_watching_ == 0);
    });
    if (num_landed_ == num_launched_) return;  // it stops
    wait_for_next(lock);
  }
}

/// Lands the next run, or leaves it to another thread that does.
void Landing::wait_for_next(std::unique_lock<std::mutex>& lock) {
  const std::uint64_t ticket = num_landed_ + 1;
  const Backoff backoff;
  while (num_landed_ < ticket && !land(lock)) {
    lock.unlock();
    if (backoff.waited() > kLookForLoss) look_for_loss();
    backoff.pause();
    lock.lock();
  }
}

const volatile Receipt& Landing::receipt(std::uint64_t ticket) const {
  return reinterpret_cast<const volatile Receipt*>(
      receipts_.bytes().data())[ticket % kMaxInTheAir];
}

bool Landing::land(std::unique_lock<std::mutex>& lock) {
  if (is_landing_ || num_landed_ == num_launched_) return false;
  if (loss_) {
    land_first(lock, loss_, 0);
    return true;
  }
  const std::uint64_t ticket = num_landed_ + 1;
  const volatile Receipt& got = receipt(ticket);
  if (got.ticket != ticket) return false;
  std::atomic_thread_fence(std::memory_order_acquire);
  const double ticks = static_cast<double>(got.end - got.begin);
  std::exception_ptr error = runs_[ticket % kMaxInTheAir].error;
  land_first(lock, std::move(error), ticks * kSecondsPerTick);
  return true;
}

void Landing::land_first(std::unique_lock<std::mutex>& lock,
                         std::exception_ptr error, double seconds) {
  Run& run = runs_[(num_landed_ + 1) % kMaxInTheAir];
  Submission& submission = *run.submission;
  run = {};
  is_landing_ = true;
  lock.unlock();
  submission.finished(std::move(error), seconds);
  lock.lock();
  is_landing_ = false;
  ++num_landed_;
  landed_.notify_all();
}

/// What the driver says of a stream that is idle is the last word: then the
/// receipts are there.
void Landing::look_for_loss() {
  try {
    stream_.is_idle();
  } catch (const Loss& loss) {
    const std::exception_ptr error = lose_(loss.what());
    std::scoped_lock lock(mutex_);
    loss_ = error;
  } catch (...) {
    // The card refused the question: the next one will tell.
  }
}

}  // namespace traingraph::cuda
