// SPDX-License-Identifier: MIT
// From the filters of a unit to code that runs them as an MPSNNGraph.
#pragma once

#include "metal/compile_unit.h"
#import "metal/mpsnn/image_graph_code.h"

namespace traingraph::metal {

/// Throws UnsupportedError naming the filter that MPSNN refused, and what
/// compile_graph() throws for updates.
std::unique_ptr<ImageGraphCode> compile_image_graph(const GpuDevice& device,
                                                    const Program& program,
                                                    const GpuUnit& unit,
                                                    const UnitArgs& args);

}  // namespace traingraph::metal
