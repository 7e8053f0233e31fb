// SPDX-License-Identifier: MIT
// Numbers of steps, which executions are given when they are enqueued. One that
// never begins gives its number back: those behind it move up when they begin,
// so that they do what they would have done without it.
//
//   enqueued   a: 5   b: 6   c: 7     next: 8
//   b dropped  a: 5          c: 6     next: 7
//
// A count that is set begins anew; what was enqueued before goes on with the
// old one, among itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "traingraph/optimizers.h"

namespace traingraph {

/// How many have been given back.
using NumDropped = std::shared_ptr<std::atomic<std::uint64_t>>;

struct StepNumber {
  std::uint64_t value = 0;
  std::uint64_t dropped = 0;  // when it was given
  NumDropped num_dropped;

  /// What it is when those that have been given back since were before it.
  std::uint64_t now() const noexcept {
    return value - (num_dropped->load() - dropped);
  }
};

/// Of a graph's forward passes.
class RandomSteps {
 public:
  StepNumber next() const;
  void advance() noexcept;
  void set(std::uint64_t value);
  void drop(const StepNumber& number) noexcept;

 private:
  mutable std::mutex mutex_;
  std::uint64_t value_ = 0;
  NumDropped num_dropped_ = std::make_shared<std::atomic<std::uint64_t>>(0);
};

/// The learning rates of an update, as the optimizer was set when that was
/// enqueued.
struct RateRule {
  std::optional<Schedule> schedule;
  float rate = 0;  // without a schedule
  float at(std::uint64_t time_step) const {
    return schedule ? schedule->rate(time_step - 1) : rate;
  }
};

/// Of an optimizer's updates; several graphs may use it.
class TimeSteps {
 public:
  static StepNumber next(const Optimizer& optimizer);
  /// Copies into `rule`, whose memory it uses again.
  static void take_rule(const Optimizer& optimizer, RateRule& rule);
  static void advance(Optimizer& optimizer) noexcept;
  /// An update that failed gives its number back, too.
  static void drop(Optimizer& optimizer, const StepNumber& number) noexcept;
};

}  // namespace traingraph
