// SPDX-License-Identifier: MIT
#include "compiler/place_in_time.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace traingraph {
namespace {

/// The ranges of an arena that are free now, and its end so far.
class FreeRanges {
 public:
  /// The tightest free range, else the end of the arena.
  std::size_t take(std::size_t bytes) {
    const auto fit = by_size_.lower_bound({bytes, 0});
    if (fit == by_size_.end()) return take_end(bytes);
    const auto [size, offset] = *fit;
    remove(offset, size);
    if (size > bytes) add(offset + bytes, size - bytes);
    return offset;
  }

  /// Free neighbours become one range.
  void give_back(std::size_t offset, std::size_t bytes) {
    const auto above = by_offset_.lower_bound(offset);
    const std::size_t end =
        above != by_offset_.end() && above->first == offset + bytes
            ? above->first + above->second
            : offset + bytes;
    std::size_t begin = offset;
    if (above != by_offset_.begin()) {
      const auto [below, size] = *std::prev(above);
      if (below + size == offset) begin = below;
    }
    if (begin < offset) remove(begin, offset - begin);
    if (end > offset + bytes) remove(offset + bytes, end - offset - bytes);
    add(begin, end - begin);
  }

  std::size_t end() const { return end_; }

 private:
  std::size_t take_end(std::size_t bytes) {
    std::size_t offset = end_;
    if (!by_offset_.empty()) {
      const auto [last, size] = *by_offset_.rbegin();
      if (last + size == end_) {
        offset = last;
        remove(last, size);
      }
    }
    end_ = offset + bytes;
    return offset;
  }
  void add(std::size_t offset, std::size_t bytes) {
    by_offset_.emplace(offset, bytes);
    by_size_.emplace(bytes, offset);
  }
  void remove(std::size_t offset, std::size_t bytes) {
    by_offset_.erase(offset);
    by_size_.erase({bytes, offset});
  }

  std::map<std::size_t, std::size_t> by_offset_;
  std::set<std::pair<std::size_t, std::size_t>> by_size_;
  std::size_t end_ = 0;
};

template <class Key>
std::vector<std::size_t> sorted_by(std::size_t count, const Key& key) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, key);
  return order;
}

std::size_t place(std::span<const Lifetime> lifetimes, bool is_backwards,
                  std::vector<std::size_t>& offsets) {
  const auto first = [&](std::size_t i) {
    return is_backwards ? -lifetimes[i].last : lifetimes[i].first;
  };
  const auto last = [&](std::size_t i) {
    return is_backwards ? -lifetimes[i].first : lifetimes[i].last;
  };
  // Of those that start together the largest is placed first.
  const auto starts = sorted_by(lifetimes.size(), [&](std::size_t i) {
    return std::pair(first(i), ~lifetimes[i].bytes);
  });
  const auto ends = sorted_by(lifetimes.size(), last);
  offsets.assign(lifetimes.size(), 0);
  FreeRanges free;
  auto dead = ends.begin();
  for (const std::size_t i : starts) {
    // A buffer that ends before this one starts has been placed already.
    for (; last(*dead) < first(i); ++dead) {
      free.give_back(offsets[*dead], lifetimes[*dead].bytes);
    }
    offsets[i] = free.take(lifetimes[i].bytes);
  }
  return free.end();
}

}  // namespace

std::size_t place_in_time(std::span<const Lifetime> lifetimes,
                          std::size_t lower_bound,
                          std::vector<std::size_t>& offsets) {
  const std::size_t forwards =
      place(lifetimes, /*is_backwards=*/false, offsets);
  if (forwards <= lower_bound) return forwards;
  std::vector<std::size_t> other;
  const std::size_t backwards = place(lifetimes, /*is_backwards=*/true, other);
  if (backwards >= forwards) return forwards;
  offsets = std::move(other);
  return backwards;
}

}  // namespace traingraph
