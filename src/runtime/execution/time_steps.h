// SPDX-License-Identifier: MIT
// Numbers of steps, which executions are given when they are enqueued. One that
// never begins gives its number back: those behind it move up when they begin,
// so that they do what they would have done without it.
//
//   enqueued   a: 5   b: 6   c: 7     next: 8
//   b dropped  a: 5          c: 6     next: 7
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "traingraph/optimizers.h"

namespace traingraph {

struct StepNumber {
  std::uint64_t value = 0;
  /// How many had been given back, and how often the count had been set: later
  /// drops concern this one.
  std::uint64_t dropped = 0, set = 0;
};

/// Of a graph's forward passes.
class RandomSteps {
 public:
  StepNumber next() const;
  void advance() noexcept;
  void set(std::uint64_t value);
  void drop(const StepNumber& number) noexcept;
  std::uint64_t now(const StepNumber& number) const noexcept;

 private:
  mutable std::mutex mutex_;
  std::uint64_t value_ = 0, set_ = 0;
  std::atomic<std::uint64_t> dropped_{0};
};

/// Of an optimizer's updates; several graphs may use it.
class TimeSteps {
 public:
  static StepNumber next(const Optimizer& optimizer);
  static void advance(Optimizer& optimizer) noexcept;
  /// An update that failed gives its number back, too.
  static void drop(Optimizer& optimizer, const StepNumber& number) noexcept;
  static std::uint64_t now(const Optimizer& optimizer,
                           const StepNumber& number) noexcept;
  static bool has_schedule(const Optimizer& optimizer) noexcept {
    return optimizer.is_scheduled_;
  }
};

}  // namespace traingraph
