// SPDX-License-Identifier: MIT
// How much memory an engine takes for values that do not leave a unit. Plain
// C++, tested everywhere.
#pragma once

#include "metal/partition.h"

namespace traingraph::metal {

/// An estimate: the most bytes of results of the unit's nodes that are needed
/// at one time, node by node, and are no targets.
std::size_t scratch_bytes(const Program& program, const GpuUnit& unit);

}  // namespace traingraph::metal
