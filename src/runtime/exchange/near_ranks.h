// SPDX-License-Identifier: MIT
// NearRanks: processes that see each other's memory. What they tell each other
// there needs no transport and no other thread.
//
//   headers     each process writes its own, and reads those of all
//   gradients   updates sum those of all, as long as nothing else reads sums
//   parameters  copied from who has updated them, where the optimizer is shared
//               out
//
// In between they meet: each counts there how often it has come.
//
//   header, meet | last gradient, meet | update | meet, copy, meet
//
// The last two, of shared out optimizers, say that all has been updated, and
// that nobody reads this process's parameters any more, which a user may set.
// That nobody reads its gradients any more the next header says.
#pragma once

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
#include "runtime/exchange/staging.h"

namespace traingraph {

class NearRanks {
 public:
  explicit NearRanks(const Ranks& ranks);

  // --- while nothing is in flight; of all processes, or of none ---

  /// What others see at the same place of their memory as `own` is of this
  /// process's, by rank; empty: nothing.
  std::vector<std::byte*> find(const std::byte* own) const;
  /// Where this process says what it has to say: nothing until now.
  void meet_at(MeetingPlace& own);
  void meet_nowhere() { places_.clear(); }
  /// Do others see that?
  bool meets() const { return !places_.empty(); }
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
  /// gradients; -1: they are summed otherwise.
  std::int64_t place_of_gradients(const ExchangePlan& plan) const;
  /// The headers of a call: do its updates sum?
  bool sums(std::span<const CallHeader> headers);
  /// Those that are summed.
  GradientsOfRanks gradients() const;
  void copy(const BoundShares& shares) const;

  /// Comes to the next meeting.
  void come();
  /// Have all come to that? Throws DeviceError when one has given up instead.
  bool are_here() const;
  /// Comes to the next one with a header.
  void come(const CallHeader& header);
  /// Those of all, who are there, by rank.
  void read(std::span<CallHeader> headers) const;
  /// Does not come any more.
  void give_up() noexcept;

 private:
  CallHeader& header_of(MeetingPlace& place) const {
    return place.headers[num_headers_ % place.headers.size()];
  }

  const Ranks& ranks_;
  // By rank.
  std::vector<MeetingPlace*> places_;
  std::vector<std::byte*> begins_;  // empty: they are not seen
  std::vector<std::byte*> gradients_;
  MeetingPlace* own_ = nullptr;
  std::uint64_t num_headers_ = 0;
  std::weak_ptr<const DeviceBuffer> memory_;
  bool has_parameters_ = false;
};

}  // namespace traingraph
