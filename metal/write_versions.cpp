// SPDX-License-Identifier: MIT
#include "metal/write_versions.h"

#include <algorithm>
#include <iterator>

namespace traingraph::metal {

WriteVersions::Segments::iterator WriteVersions::split(std::size_t offset) {
  const auto after = segments_.upper_bound(offset);
  const auto at = std::prev(after);
  if (at->first == offset) return at;
  return segments_.emplace_hint(after, offset, at->second);
}

void WriteVersions::note_write(std::size_t offset, std::size_t bytes) {
  if (bytes == 0) return;
  const auto end = split(offset + bytes);
  const auto begin = split(offset);
  begin->second = ++num_writes_;
  segments_.erase(std::next(begin), end);
}

std::uint64_t WriteVersions::version(std::size_t offset,
                                     std::size_t bytes) const {
  std::uint64_t newest = 0;
  if (bytes == 0) return newest;
  for (auto at = std::prev(segments_.upper_bound(offset));
       at != segments_.end() && at->first < offset + bytes; ++at) {
    newest = std::max(newest, at->second);
  }
  return newest;
}

}  // namespace traingraph::metal
