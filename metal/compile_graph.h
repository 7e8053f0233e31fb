// SPDX-License-Identifier: MIT
// From the nodes of a unit to a compiled MPSGraph executable.
#pragma once

#include "metal/compile_unit.h"
#import "metal/graph_code.h"

namespace traingraph::metal {

/// Throws UnsupportedError naming the node that MPSGraph refused, DeviceError
/// when the whole did not compile.
std::unique_ptr<GraphCode> compile_graph(const GpuDevice& device,
                                         const Program& program,
                                         const GpuUnit& unit,
                                         const UnitArgs& args);

/// A graph leaves the new contents of its variables in scratch; these copies
/// write them back.
std::vector<MetalUnitCode::WriteBack> write_backs(const Program& program,
                                                  const GpuUnit& unit,
                                                  const UnitArgs& args);

}  // namespace traingraph::metal
