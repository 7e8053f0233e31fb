// SPDX-License-Identifier: MIT
#include "runtime/execution/time_steps.h"

#include <algorithm>

namespace traingraph {
namespace {

/// Of all optimizers: an update holds it for a moment.
std::mutex& mutex_of_optimizers() {
  static auto* mutex = new std::mutex;  // the queue may outlive statics
  return *mutex;
}

}  // namespace

StepNumber RandomSteps::next() const {
  const std::scoped_lock lock(mutex_);
  return {value_, dropped_.load(), set_};
}

void RandomSteps::advance() noexcept {
  const std::scoped_lock lock(mutex_);
  ++value_;
}

void RandomSteps::set(std::uint64_t value) {
  const std::scoped_lock lock(mutex_);
  value_ = value;
  ++set_;
}

void RandomSteps::drop(const StepNumber& number) noexcept {
  const std::scoped_lock lock(mutex_);
  if (number.set != set_) return;
  --value_;
  dropped_.fetch_add(1);
}

std::uint64_t RandomSteps::now(const StepNumber& number) const noexcept {
  if (dropped_.load() == number.dropped) return number.value;
  const std::scoped_lock lock(mutex_);
  if (number.set != set_) return number.value;
  return number.value - (dropped_.load() - number.dropped);
}

StepNumber TimeSteps::next(const Optimizer& optimizer) {
  const std::scoped_lock lock(mutex_of_optimizers());
  return {optimizer.time_step_.load(), optimizer.num_dropped_.load(),
          optimizer.num_set_.load()};
}

void TimeSteps::advance(Optimizer& optimizer) noexcept {
  const std::scoped_lock lock(mutex_of_optimizers());
  optimizer.time_step_.fetch_add(1);
}

void TimeSteps::drop(Optimizer& optimizer, const StepNumber& number) noexcept {
  const std::scoped_lock lock(mutex_of_optimizers());
  if (number.set != optimizer.num_set_.load()) return;
  if (optimizer.time_step_.load() <= 1) return;
  optimizer.time_step_.fetch_sub(1);
  optimizer.num_dropped_.fetch_add(1);
}

std::uint64_t TimeSteps::now(const Optimizer& optimizer,
                             const StepNumber& number) noexcept {
  if (optimizer.num_dropped_.load() == number.dropped) return number.value;
  const std::scoped_lock lock(mutex_of_optimizers());
  if (number.set != optimizer.num_set_.load()) return number.value;
  const std::uint64_t dropped = optimizer.num_dropped_.load() - number.dropped;
  return std::max<std::uint64_t>(1, number.value - dropped);
}

}  // namespace traingraph
