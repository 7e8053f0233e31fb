// SPDX-License-Identifier: MIT
// From a GpuUnit to the code of its engine. Plain C++ declarations.
#pragma once

#include <memory>

#include "metal/partition.h"

namespace traingraph::metal {

struct GpuDevice;

/// Which argument of the unit (Unit::args) holds what.
struct UnitArgs {
  std::vector<int> feeds, targets;  // as in GpuUnit
  std::vector<int> states, masks;   // random state and mask of each Mask
  std::vector<int> variables;       // each of GpuUnit::updated
  std::vector<int> news;            // where their new contents go first
  std::vector<bool> are_deferred;   // are they written at the end of the run?
  std::vector<UnitArgs> updates;    // of GpuUnit::updates
  /// Each of GpuUnit::in_place has an argument for each input; -1: none.
  std::vector<std::vector<int>> in_place;
  std::vector<bool>
      are_in_place_deferred;  // does it run at the end of the run?
};

/// Throws UnsupportedError naming the node that its engine refused, DeviceError
/// when the whole did not compile.
std::unique_ptr<UnitCode> compile_unit(const GpuDevice& device,
                                       const Program& program,
                                       const GpuUnit& unit,
                                       const UnitArgs& args);

}  // namespace traingraph::metal
