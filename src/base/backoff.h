// SPDX-License-Identifier: MIT
// Backoff: pauses of who polls. They grow with the wait, which costs no more
// than a part of what it takes, and leave the processor to those who compute.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace traingraph {

class Backoff {
 public:
  using Clock = std::chrono::steady_clock;

  void pause() const {
    const Clock::duration sleep = waited() / kPartOfWait;
    // What is short is over before a sleep would be.
    if (sleep < kShortestSleep) return std::this_thread::yield();
    std::this_thread::sleep_for(std::min<Clock::duration>(sleep, kMaxSleep));
  }
  Clock::duration waited() const { return Clock::now() - start_; }

 private:
  static constexpr int kPartOfWait = 16;
  static constexpr auto kShortestSleep = std::chrono::microseconds(20);
  /// What is long is noticed at once.
  static constexpr auto kMaxSleep = std::chrono::milliseconds(1);

  const Clock::time_point start_ = Clock::now();
};

}  // namespace traingraph
