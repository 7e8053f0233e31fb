// SPDX-License-Identifier: MIT
// WriteVersions: when bytes of a buffer were written last, as a number that
// goes up. Both calls take logarithmic time, in the number of ranges that were
// written, and the time of the ranges that they touch. Plain C++, tested
// everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace traingraph::metal {

class WriteVersions {
 public:
  void note_write(std::size_t offset, std::size_t bytes);
  /// Another number after every write to any of these bytes; 0: there was none.
  std::uint64_t version(std::size_t offset, std::size_t bytes) const;

 private:
  using Segments = std::map<std::size_t, std::uint64_t>;
  /// Makes a segment begin at `offset`.
  Segments::iterator split(std::size_t offset);

  /// The version of the bytes from each offset to the next.
  Segments segments_{{0, 0}};
  std::uint64_t num_writes_ = 0;
};

}  // namespace traingraph::metal
