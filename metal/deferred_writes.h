// SPDX-License-Identifier: MIT
// Which changes of variables wait until all units of their run are done, so
// that a run that fails half way has changed nothing. Plain C++, tested
// everywhere.
#pragma once

#include <array>
#include <vector>

#include "metal/partition.h"

namespace traingraph::metal {

/// Says of each of GpuUnit::updated and GpuUnit::in_place whether it is
/// deferred.
struct AreDeferred {
  std::vector<bool> updated, in_place;
};

/// A write is deferred unless a later unit of the run reads or writes the
/// variable, or writes what the change reads. Of one unit, what an early change
/// reads is changed early as well. Deferred writes keep their order: copies
/// first, then updates in place.
class DeferredWrites {
 public:
  DeferredWrites(const Program& program, const LowerOptions& options,
                 const std::vector<GpuUnit>& units);

  AreDeferred of(int unit) const;

 private:
  /// The last unit that touches or writes each value; -1: none does.
  struct Last {
    std::vector<int> touched, written;
  };

  void note(const GpuUnit& unit, int number);
  int run_of(int unit) const;
  const Last& last(int unit) const { return lasts_[run_of(unit)]; }
  bool is_deferred(const InPlaceUpdate& update, int unit) const;
  bool touches(const InPlaceUpdate& update, ValueId value) const;
  bool reads_of(const InPlaceUpdate& reader, const InPlaceUpdate& writer) const;

  const Program& program_;
  const std::vector<GpuUnit>& units_;
  const bool is_one_run_;
  std::array<Last, 3> lasts_;  // by phase; the first alone where one is a run
};

}  // namespace traingraph::metal
