// SPDX-License-Identifier: MIT
// Plans are made by placing buffers one after another, each at the lowest or
// at the tightest free range. What matters is the order, so several orders are
// tried and the smallest arena wins. Ten buffers or fewer are solved exactly;
// more get a bounded local search. Placing in any order looks at all buffers
// placed before, so thousands are placed in the order of time only, which
// needs no more than the ranges that are free at that time. Work is counted,
// not timed: the same input gives the same plan on every machine.
#include "compiler/memory_plan.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <numeric>

#include "base/checked.h"
#include "compiler/place_in_time.h"
#include "formulas/random.h"

namespace traingraph {
namespace {

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();
constexpr const char* kArena = "the arena of intermediate tensors";
constexpr int kMaxExactBuffers = 10;
// Both searches look at so many placed buffers; about 15 ms of one core each.
constexpr std::int64_t kSearchWork = 8'000'000;
constexpr std::int64_t kOrdersWork = 32'000'000;

enum class Fit { Lowest, Tightest };

using Order = std::vector<int>;  // indices into the buffers, first placed first

/// A non-empty buffer with its size rounded up.
struct RoundedBuffer {
  std::size_t bytes;
  int first, last;
  int index;  // in the caller's list

  std::int64_t length() const { return std::int64_t{last} - first + 1; }
};

struct PlacedBuffers {
  std::vector<std::size_t> offsets;  // one per buffer
  std::size_t arena_bytes = kNoLimit;
};

struct Placed {
  std::size_t offset, end;
  int first, last;
};

/// Sum of the live bytes at each position where it can change, and the means
/// to ask for the largest sum over an interval.
class LiveBytes {
 public:
  explicit LiveBytes(const std::vector<RoundedBuffer>& buffers) {
    for (const RoundedBuffer& b : buffers) positions_.push_back(b.first);
    std::sort(positions_.begin(), positions_.end());
    positions_.erase(std::unique(positions_.begin(), positions_.end()),
                     positions_.end());
    // The sum only grows where a buffer starts, so its peaks are there.
    std::vector<std::size_t> difference(positions_.size() + 1);
    for (const RoundedBuffer& b : buffers) {
      difference[at_or_after(b.first)] += b.bytes;
      difference[at_or_after(std::int64_t{b.last} + 1)] -= b.bytes;
    }
    sums_.resize(positions_.size());
    std::partial_sum(difference.begin(), difference.end() - 1, sums_.begin());
  }

  std::size_t peak() const {
    return sums_.empty() ? 0 : *std::max_element(sums_.begin(), sums_.end());
  }

  std::size_t peak_during(const RoundedBuffer& b) const {
    const auto begin = sums_.begin() + at_or_after(b.first);
    const auto end = sums_.begin() + at_or_after(std::int64_t{b.last} + 1);
    return *std::max_element(begin, end);
  }

 private:
  std::ptrdiff_t at_or_after(std::int64_t position) const {
    return std::lower_bound(positions_.begin(), positions_.end(), position) -
           positions_.begin();
  }

  std::vector<int> positions_;  // sorted, distinct
  std::vector<std::size_t> sums_;
};

/// The buffers placed so far are sorted by offset.
class OccupiedSpace {
 public:
  explicit OccupiedSpace(std::size_t num_buffers) {
    placed_.reserve(num_buffers);
  }

  void clear() { placed_.clear(); }
  std::int64_t work() const { return work_; }

  std::size_t find(const RoundedBuffer& b, Fit fit) {
    std::size_t free_from = 0;  // end of the live buffers seen so far
    std::size_t best = 0, best_gap = kNoLimit;
    for (const Placed& p : placed_) {
      ++work_;
      if (p.last < b.first || b.last < p.first) continue;
      if (p.offset >= free_from + b.bytes) {
        if (fit == Fit::Lowest) return free_from;
        const std::size_t gap = p.offset - free_from;
        if (gap < best_gap) {
          best = free_from;
          best_gap = gap;
        }
      }
      free_from = std::max(free_from, p.end);
    }
    return best_gap == kNoLimit ? free_from : best;
  }

  void insert(const RoundedBuffer& b, std::size_t offset) {
    const auto after = std::upper_bound(
        placed_.begin(), placed_.end(), offset,
        [](std::size_t value, const Placed& p) { return value < p.offset; });
    placed_.insert(after, {offset, offset + b.bytes, b.first, b.last});
  }

  /// Undoes the insertion of the buffer at the highest offset.
  void remove_highest() { placed_.pop_back(); }

 private:
  std::vector<Placed> placed_;
  std::int64_t work_ = 0;
};

/// Places all buffers in `order`; gives up (arena kNoLimit) when the arena
/// would be larger than `limit`.
void place(const std::vector<RoundedBuffer>& buffers, const Order& order,
           Fit fit, std::size_t limit, OccupiedSpace& arena,
           PlacedBuffers& result) {
  arena.clear();
  result.offsets.resize(buffers.size());
  result.arena_bytes = kNoLimit;
  std::size_t size = 0;
  for (int i : order) {
    const std::size_t offset = arena.find(buffers[i], fit);
    size = std::max(size, offset + buffers[i].bytes);
    if (size > limit) return;
    arena.insert(buffers[i], offset);
    result.offsets[i] = offset;
  }
  result.arena_bytes = size;
}

template <class Key>
Order order_by(const std::vector<RoundedBuffer>& buffers, Key key) {
  std::vector<decltype(key(buffers[0]))> keys;
  for (const RoundedBuffer& b : buffers) keys.push_back(key(b));
  Order order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return keys[a] < keys[b]; });
  return order;
}

/// Gives an ascending key for descending order of unsigned sizes.
std::size_t largest(std::size_t value) { return kNoLimit - value; }

std::vector<Order> candidate_orders(const std::vector<RoundedBuffer>& buffers,
                                    const LiveBytes& live) {
  using Pair = std::pair<std::size_t, std::size_t>;
  return {
      order_by(buffers, [](auto& b) { return Pair(largest(b.bytes), 0); }),
      order_by(buffers,
               [](auto& b) {
                 return Pair(largest(static_cast<std::size_t>(b.length())),
                             largest(b.bytes));
               }),
      order_by(buffers,
               [&](auto& b) {
                 return Pair(largest(live.peak_during(b)), largest(b.bytes));
               }),
      order_by(buffers,
               [](auto& b) { return std::pair(b.first, largest(b.bytes)); }),
      order_by(buffers,
               [](auto& b) { return std::pair(-b.last, largest(b.bytes)); }),
  };
}

PlacedBuffers placed_in_time(const std::vector<RoundedBuffer>& buffers,
                             std::size_t enough) {
  std::vector<Lifetime> lifetimes;
  for (const RoundedBuffer& b : buffers) {
    lifetimes.push_back({b.bytes, b.first, b.last});
  }
  PlacedBuffers result;
  result.arena_bytes = place_in_time(lifetimes, enough, result.offsets);
  return result;
}

/// Branch and bound over placement orders. Some optimal plan is found by
/// placing buffers by ascending offset, each at its lowest free range, so only
/// orders with ascending offsets are tried.
class ExactSearch {
 public:
  ExactSearch(const std::vector<RoundedBuffer>& buffers, std::size_t enough,
              PlacedBuffers& best)
      : buffers_(buffers),
        enough_(enough),
        best_(best),
        arena_(buffers.size()),
        is_placed_(buffers.size()),
        offsets_(buffers.size()) {}

  void run() { extend(/*num_placed=*/0, /*offset=*/0, /*size=*/0); }

 private:
  bool is_over() const {
    return best_.arena_bytes <= enough_ || arena_.work() > kSearchWork;
  }

  void extend(std::size_t num_placed, std::size_t offset, std::size_t size) {
    if (num_placed == buffers_.size()) {
      best_ = {offsets_, size};
      return;
    }
    for (std::size_t i = 0; i < buffers_.size() && !is_over(); ++i) {
      if (is_placed_[i]) continue;
      const std::size_t next = arena_.find(buffers_[i], Fit::Lowest);
      const std::size_t grown = std::max(size, next + buffers_[i].bytes);
      if (next < offset || grown >= best_.arena_bytes) continue;
      is_placed_[i] = true;
      offsets_[i] = next;
      arena_.insert(buffers_[i], next);
      extend(num_placed + 1, next, grown);
      arena_.remove_highest();
      is_placed_[i] = false;
    }
  }

  const std::vector<RoundedBuffer>& buffers_;
  const std::size_t enough_;
  PlacedBuffers& best_;
  OccupiedSpace arena_;
  std::vector<bool> is_placed_;
  std::vector<std::size_t> offsets_;
};

/// Moves one of the buffers that reach the end of the arena to an earlier
/// place in the order, and keeps the change unless the arena grows.
void improve(const std::vector<RoundedBuffer>& buffers, Order order,
             std::size_t enough, PlacedBuffers& best) {
  OccupiedSpace arena(buffers.size());
  PlacedBuffers current, trial;
  place(buffers, order, Fit::Lowest, kNoLimit, arena, current);
  for (std::uint32_t step = 0; arena.work() < kSearchWork; ++step) {
    if (current.arena_bytes < best.arena_bytes) best = current;
    if (best.arena_bytes <= enough) return;
    std::vector<std::size_t> at_end;  // positions in the order, never 0
    for (std::size_t i = 1; i < order.size(); ++i) {
      const std::size_t end =
          current.offsets[order[i]] + buffers[order[i]].bytes;
      if (end == current.arena_bytes) at_end.push_back(i);
    }
    if (at_end.empty()) return;
    const auto random = formulas::philox({{step, 0, 0, 0}}, /*key=*/1);
    const std::size_t from = at_end[random.words[0] % at_end.size()];
    const std::size_t to = random.words[1] % from;
    const auto begin = order.begin();
    std::rotate(begin + to, begin + from, begin + from + 1);
    place(buffers, order, Fit::Lowest, current.arena_bytes, arena, trial);
    if (trial.arena_bytes <= current.arena_bytes) {
      std::swap(current, trial);
    } else {
      std::rotate(begin + to, begin + to + 1, begin + from + 1);
    }
  }
}

/// An arena of `room` bytes is small enough.
PlacedBuffers place_with_reuse(const std::vector<RoundedBuffer>& buffers,
                               const LiveBytes& live, std::size_t room) {
  const std::size_t enough = std::max(live.peak(), room);
  OccupiedSpace arena(buffers.size());
  PlacedBuffers best, trial;
  Order best_order;
  const auto count = static_cast<std::int64_t>(buffers.size());
  const std::int64_t work = count * count / 2;  // of one order, at most
  if (work > kOrdersWork) return placed_in_time(buffers, enough);
  for (const Order& order : candidate_orders(buffers, live)) {
    for (Fit fit : {Fit::Tightest, Fit::Lowest}) {
      if (arena.work() + work > kOrdersWork) break;
      const std::size_t limit = best.arena_bytes - 1;
      place(buffers, order, fit, limit, arena, trial);
      if (trial.arena_bytes >= best.arena_bytes) continue;
      std::swap(best, trial);
      best_order = order;
      if (best.arena_bytes <= enough) return best;
    }
  }
  if (buffers.size() <= kMaxExactBuffers) {
    ExactSearch(buffers, enough, best).run();
    return best;
  }
  trial = placed_in_time(buffers, enough);
  if (trial.arena_bytes < best.arena_bytes) std::swap(best, trial);
  if (work < kSearchWork) improve(buffers, best_order, enough, best);
  return best;
}

/// Do the model's offsets serve?
bool is_like(const std::vector<RoundedBuffer>& buffers,
             std::size_t num_lifetimes, std::size_t alignment,
             const ArenaModel& model) {
  if (model.lifetimes.size() != num_lifetimes) return false;
  return std::ranges::all_of(buffers, [&](const RoundedBuffer& b) {
    const Lifetime& other = model.lifetimes[b.index];
    return b.first == other.first && b.last == other.last &&
           b.bytes <= checked_align(other.bytes, alignment, kArena) &&
           model.offsets[b.index] % alignment == 0;
  });
}

PlacedBuffers placed_like(const std::vector<RoundedBuffer>& buffers,
                          const ArenaModel& model) {
  PlacedBuffers result{.offsets = {}, .arena_bytes = 0};
  for (const RoundedBuffer& b : buffers) {
    result.offsets.push_back(model.offsets[b.index]);
    result.arena_bytes =
        std::max(result.arena_bytes, result.offsets.back() + b.bytes);
  }
  return result;
}

PlacedBuffers place_without_reuse(const std::vector<RoundedBuffer>& buffers) {
  PlacedBuffers result{.offsets = {}, .arena_bytes = 0};
  for (const RoundedBuffer& b : buffers) {
    result.offsets.push_back(result.arena_bytes);
    result.arena_bytes += b.bytes;
  }
  return result;
}

}  // namespace

MemoryPlan plan_memory(std::span<const Lifetime> lifetimes,
                       std::size_t alignment, bool reuses,
                       const ArenaModel& model) {
  assert(alignment != 0 && (alignment & (alignment - 1)) == 0);
  std::vector<RoundedBuffer> buffers;
  std::size_t total = 0;  // fits, and so do all offsets and sums below
  for (std::size_t i = 0; i < lifetimes.size(); ++i) {
    const Lifetime& l = lifetimes[i];
    assert(l.first <= l.last);
    if (l.bytes == 0) continue;
    buffers.push_back({checked_align(l.bytes, alignment, kArena), l.first,
                       l.last, static_cast<int>(i)});
    total = checked_add(total, buffers.back().bytes, kArena);
  }

  MemoryPlan plan{.offsets = std::vector<std::size_t>(lifetimes.size())};
  if (buffers.empty()) return plan;
  const LiveBytes live(buffers);
  const PlacedBuffers placement =
      is_like(buffers, lifetimes.size(), alignment, model)
          ? placed_like(buffers, model)
      : reuses ? place_with_reuse(buffers, live, model.arena_bytes)
               : place_without_reuse(buffers);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    plan.offsets[buffers[i].index] = placement.offsets[i];
  }
  plan.arena_bytes = placement.arena_bytes;
  plan.live_peak_bytes = live.peak();
  return plan;
}

}  // namespace traingraph
