// SPDX-License-Identifier: MIT
// Which storage's contents lie where in an arena, for the check of plans.
#pragma once

#include <map>
#include <optional>

#include "compiler/target.h"

namespace traingraph {

/// Whose contents lie where: ranges of one storage each, by offset.
class ArenaContents {
 public:
  struct Range {
    std::size_t end;
    StorageId storage;
  };

  /// Has the storage all of these bytes, as they were put there?
  bool holds(StorageId storage, std::size_t begin, std::size_t end) const {
    const auto it = ranges_.find(begin);
    return it != ranges_.end() && it->second.storage == storage &&
           it->second.end == end;
  }

  /// The first storage with any of these bytes that is `wanted`.
  template <class Wanted>
  std::optional<StorageId> find(std::size_t begin, std::size_t end,
                                const Wanted& wanted) const {
    auto it = ranges_.upper_bound(begin);
    if (it != ranges_.begin()) --it;
    for (; it != ranges_.end() && it->first < end; ++it) {
      if (it->second.end > begin && wanted(it->second.storage)) {
        return it->second.storage;
      }
    }
    return {};
  }

  void put(StorageId storage, std::size_t begin, std::size_t end) {
    forget(begin, end);
    ranges_.emplace(begin, Range{end, storage});
  }

  /// What reaches beyond keeps its rest, which no longer holds() anything.
  void forget(std::size_t begin, std::size_t end) {
    auto it = ranges_.upper_bound(begin);
    if (it != ranges_.begin()) --it;
    while (it != ranges_.end() && it->first < end) {
      const auto [first, range] = *it;
      if (range.end <= begin) {
        ++it;
        continue;
      }
      it = ranges_.erase(it);
      if (first < begin) ranges_.emplace(first, Range{begin, range.storage});
      if (range.end > end)
        ranges_.emplace(end, Range{range.end, range.storage});
    }
  }

 private:
  std::map<std::size_t, Range> ranges_;
};

}  // namespace traingraph
