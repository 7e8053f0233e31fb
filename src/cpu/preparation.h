// SPDX-License-Identifier: MIT
// Which runs of bound units may leave out the prepared ones.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/target.h"
#include "runtime/device/host_memory.h"

namespace traingraph::cpu {

/// What prepared units read and write is watched buffer by buffer. An arena has
/// several users (batch sizes, with and without labels), and who ran there last
/// finds its own results alone.
class Preparation {
 public:
  /// `locations` by storage.
  Preparation(const LoweredProgram& program, std::span<const UnitId> units,
              std::span<const Location> locations);

  bool is_prepared(std::size_t unit) const { return is_prepared_[unit]; }
  /// A run begins, and counts as a write. May it leave out prepared units?
  bool begin();
  /// All units that had to have run.
  void end() { is_made_ = true; }

 private:
  struct Watched {
    HostBuffer* buffer;
    std::uint64_t num_writes;
  };
  static bool is_same(const Watched& watched) {
    return watched.buffer->num_writes() == watched.num_writes;
  }

  std::vector<bool> is_prepared_;     // by position
  std::vector<Watched> sources_;      // what prepared units read
  std::vector<Watched> results_;      // and where they write
  std::vector<HostBuffer*> written_;  // by any of the units
  bool is_made_ = false;
};

}  // namespace traingraph::cpu
