// SPDX-License-Identifier: MIT
// SharedShares: processes that share out the optimizer and see each other's
// memory. Each sums no more of the gradients than its share, where they lie,
// and copies from the others what they have updated of the parameters.
//
//   last gradient | meet | sum the share | update it | meet | copy | meet
//
// The second meeting says that nobody reads this process's gradients any more,
// the third that nobody reads its parameters, which a user may set.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/device/device_context.h"
#include "runtime/exchange/call_header.h"
#include "runtime/exchange/exchange_plan.h"
#include "runtime/exchange/ranks.h"

namespace traingraph {

class SharedShares {
 public:
  explicit SharedShares(const Ranks& ranks);

  // --- while nothing is in flight; of all processes, or of none ---

  /// What others see at the same place of their memory as `own` is of this
  /// process's, by rank; empty: nothing.
  std::vector<std::byte*> find(const std::byte* own) const;
  /// Where this process says how often it has come: 0 times until now.
  void meet_at(std::atomic<std::uint64_t>& arrivals);
  /// Do others see that?
  bool meets() const { return !arrivals_.empty(); }
  /// Steps have their gradients in `memory`, which begins at `begin`.
  void share_gradients(std::weak_ptr<const DeviceBuffer> memory,
                       const std::byte* begin);
  void forget_gradients() { begins_.clear(); }
  /// All that is trained lies where others see it.
  void share_parameters() { has_parameters_ = true; }
  void forget_parameters() { has_parameters_ = false; }
  bool has_parameters() const { return has_parameters_; }
  /// A sentence: how updated parameters come from the others.
  std::string description() const;

  // --- executions ---

  /// What the header of a call says: bytes from the begin of the memory to its
  /// gradients; -1: they are elsewhere, or more is read of the sums.
  std::int64_t place_of_gradients(const ExchangePlan& plan) const;
  /// The headers of a call: does each process sum its share of that?
  bool sums(std::span<const CallHeader> headers);
  void sum(const ExchangePlan& plan) const;
  void copy(const BoundShares& shares) const;
  /// Comes to the next meeting.
  void come();
  /// Have all come to that?
  bool are_here() const;

 private:
  const Ranks& ranks_;
  // By rank.
  std::vector<const std::atomic<std::uint64_t>*> arrivals_;
  std::vector<std::byte*> begins_;  // empty: they are not seen
  std::vector<std::byte*> gradients_;
  std::atomic<std::uint64_t>* own_arrivals_ = nullptr;
  std::weak_ptr<const DeviceBuffer> memory_;
  bool has_parameters_ = false;
};

}  // namespace traingraph
