// SPDX-License-Identifier: MIT
// Collectives whose ranks are threads of one process: sums in the order of
// ranks, delays, ranks that die. Each operation is a meeting that knows what
// every rank came with, so ranks that disagree get an error instead of wrong
// numbers.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "traingraph/collective.h"

namespace traingraph::testing {

struct ThreadGroupOptions {
  /// Each operation waits a random time up to this before it meets the others,
  /// and after that again.
  std::chrono::microseconds longest_delay{0};
  std::uint64_t seed = 1;
};

class ThreadGroup {
 public:
  explicit ThreadGroup(int size, ThreadGroupOptions options = {});
  ~ThreadGroup();

  int size() const;
  /// The collective of a rank; always the same.
  const std::shared_ptr<Collective>& operator[](int rank) const;
  /// Keeps the rank from all meetings from now on: its operations and those of
  /// all others last until the rank that waits gives up (abort()).
  void kill(int rank);
  /// How many operations a rank has begun on its thread.
  std::int64_t num_begun(int rank) const;

 private:
  struct Meetings;
  class Member;
  std::shared_ptr<Meetings> meetings_;
  std::vector<std::shared_ptr<Collective>> members_;
};

/// Begins an operation and waits; throws its error.
///   wait_for([&](Collective::Done done) { c.all_reduce(values,
///   std::move(done)); });
void wait_for(const std::function<void(Collective::Done)>& begin);

/// Calls `run(rank)` on a thread for each rank, and waits for all; throws the
/// error of the first rank that has one.
void on_each_rank(int size, const std::function<void(int)>& run);

}  // namespace traingraph::testing
