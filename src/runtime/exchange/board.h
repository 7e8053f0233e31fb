// SPDX-License-Identifier: MIT
// Board: where processes that see each other's memory put up which calls they
// make, and that they have failed. There is one for all graphs with a
// collective, which has one order of calls, as a transport has.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "runtime/exchange/call_header.h"
#include "traingraph/collective.h"

namespace traingraph {

class Board {
 public:
  /// More than threads of a process that make calls at the same time: a header
  /// that has not been read is not overwritten.
  static constexpr std::size_t kMostHeaders = 16;
  /// Of one process, as all see it.
  struct Place {
    std::atomic<std::uint64_t> num_headers;
    std::atomic<bool> has_given_up;
    std::array<CallHeader, kMostHeaders> headers;
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
                std::atomic<bool>::is_always_lock_free);

  /// `places`: by rank; `memory` is what holds that of this process.
  Board(std::shared_ptr<std::byte> memory, std::vector<Place*> places,
        int rank);

  /// From any thread. Returns how many this process has put up.
  std::uint64_t put_up(const CallHeader& header);
  /// Have all put up so many? Throws DeviceError when one has failed instead.
  bool are_there(std::uint64_t number) const;
  /// Those with this number, by rank, once they are there.
  void read(std::uint64_t number, std::span<CallHeader> headers) const;
  /// This process makes no more calls.
  void give_up() noexcept;
  /// Throws DeviceError when `rank` does not, and will not, since it has not
  /// yet when that is known: what it did before it failed counts.
  template <class F>
  void require_whole_unless(int rank, const F& has_done) const {
    const bool is_lost = places_[static_cast<std::size_t>(rank)]->has_given_up;
    if (is_lost && !has_done()) throw_failed(rank);
  }

 private:
  [[noreturn]] static void throw_failed(int rank);

  std::shared_ptr<std::byte> memory_;
  std::vector<Place*> places_;
  Place& own_;
  std::mutex mutex_;  // one header after the other
};

/// What all graphs with a collective share.
struct SharedByGraphs {
  std::int32_t num_compiled = 0;
  /// Null: the processes do not see each other's memory. None: nobody has asked
  /// yet.
  std::optional<std::shared_ptr<Board>> board;
};
/// As long as the collective is.
std::shared_ptr<SharedByGraphs> shared_by_graphs(
    const std::shared_ptr<Collective>& collective);

}  // namespace traingraph
