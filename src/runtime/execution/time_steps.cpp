// SPDX-License-Identifier: MIT
#include "runtime/execution/time_steps.h"

namespace traingraph {

StepNumber RandomSteps::next() const {
  const std::scoped_lock lock(mutex_);
  return {value_, num_dropped_->load(), num_dropped_};
}

void RandomSteps::advance() noexcept {
  const std::scoped_lock lock(mutex_);
  ++value_;
}

void RandomSteps::set(std::uint64_t value) {
  auto anew = std::make_shared<std::atomic<std::uint64_t>>(0);
  const std::scoped_lock lock(mutex_);
  value_ = value;
  num_dropped_ = std::move(anew);
}

void RandomSteps::drop(const StepNumber& number) noexcept {
  const std::scoped_lock lock(mutex_);
  number.num_dropped->fetch_add(1);
  if (number.num_dropped == num_dropped_) --value_;
}

StepNumber TimeSteps::next(const Optimizer& optimizer) {
  const std::scoped_lock lock(optimizer.mutex_);
  return {optimizer.time_step_.load(), optimizer.num_dropped_->load(),
          optimizer.num_dropped_};
}

void TimeSteps::take_rule(const Optimizer& optimizer, RateRule& rule) {
  const std::scoped_lock lock(optimizer.mutex_);
  rule.schedule = optimizer.schedule_;
  rule.rate = optimizer.learning_rate_.load();
}

void TimeSteps::advance(Optimizer& optimizer) noexcept {
  const std::scoped_lock lock(optimizer.mutex_);
  optimizer.time_step_.fetch_add(1);
}

void TimeSteps::drop(Optimizer& optimizer, const StepNumber& number) noexcept {
  const std::scoped_lock lock(optimizer.mutex_);
  number.num_dropped->fetch_add(1);
  if (number.num_dropped == optimizer.num_dropped_) {
    optimizer.time_step_.fetch_sub(1);
  }
}

}  // namespace traingraph
