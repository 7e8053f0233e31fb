// SPDX-License-Identifier: MIT
// Borders: the live-ins of units, which they read from outside, and their
// live-outs, which others read.
#pragma once

#include "metal/partition.h"

namespace traingraph::metal {

class Borders {
 public:
  Borders(const Program& program, const LowerOptions& options,
          const std::vector<GpuUnit>& units);

  /// Is the value read outside of the unit that computes it?
  bool crosses(ValueId value) const { return is_kept_[value]; }
  /// The unit of a node is -1 where no unit has it.
  int unit_of(NodeId id) const { return unit_of_[id]; }

  /// Fills in feeds, targets and the rest; drops units without results.
  void find(std::vector<GpuUnit>& units);

 private:
  void keep_what_crosses(NodeId reader);
  void keep_for(const InPlaceUpdate& update);
  void find(GpuUnit& unit) const;
  void find_images(GpuUnit& unit) const;

  const Program& program_;
  std::vector<bool> is_kept_;      // by value
  std::vector<int> unit_of_;       // by node
  std::vector<bool> is_in_place_;  // by node
  std::vector<NodeId> producer_;   // by value
};

}  // namespace traingraph::metal
