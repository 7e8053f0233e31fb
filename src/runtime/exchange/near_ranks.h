// SPDX-License-Identifier: MIT
// NearRanks: processes that see each other's memory. What they need of each
// other they find there, without a transport or another thread.
//
//   gradients   updates sum those of all, as long as nothing else reads sums
//   parameters  copied from who has updated them, where the optimizer is shared
//               out
//
// The headers of a call (board.h) say that all make it. Then they meet: each
// counts how often it has come.
//
//   headers | last gradient, meet | update | meet, copy, meet
//
// The last two, where the optimizer is shared out, say that all has been
// updated, and that nobody reads this process's parameters any more, which a
// user may set. That nobody reads its gradients any more the next headers say.
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

class NearRanks {
 public:
  explicit NearRanks(const Ranks& ranks);

  // --- while nothing is in flight; of all processes, or of none ---

  /// What others see at the same place of their memory as `own` is of this
  /// process's, by rank; empty: nothing.
  std::vector<std::byte*> find(const std::byte* own) const;
  /// Where this process says how often it has come: 0 times until now.
  void meet_at(std::atomic<std::uint64_t>& arrivals);
  void meet_nowhere() { arrivals_.clear(); }
  /// Do others see that, and the headers?
  bool meets() const { return !arrivals_.empty() && ranks_.board(); }
  /// Steps have their gradients in `memory`, which begins at `begin`.
  void share_gradients(std::weak_ptr<const DeviceBuffer> memory,
                       std::byte* begin);
  void forget_gradients() { begins_.clear(); }
  /// All that is trained lies where others see it.
  void share_parameters() { has_parameters_ = true; }
  void forget_parameters() { has_parameters_ = false; }
  bool has_parameters() const { return has_parameters_; }
  /// A sentence: how updated parameters come from the others.
  std::string description() const;

  // --- executions ---

  /// What the header of a call says: bytes from the begin of the memory to its
  /// gradients; -1: they are summed otherwise.
  std::int64_t place_of_gradients(const ExchangePlan& plan) const;
  /// The headers of a call: do its updates sum?
  bool sums(std::span<const CallHeader> headers);
  /// Those that are summed.
  GradientsOfRanks gradients() const;
  void copy(const BoundShares& shares) const;

  /// Comes to the next meeting.
  void come();
  /// Have all come to that? Throws DeviceError when one has failed instead.
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
