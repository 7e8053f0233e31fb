// SPDX-License-Identifier: MIT
// Binding: the units of a segment get addresses, and so does what the host gets
// after it. Allocates the arenas it needs.
#pragma once

#include "runtime/execution/batches.h"

namespace traingraph {

struct BindOptions {
  bool poisons_memory = false;
  LinkedParts linked;
};

std::shared_ptr<BoundSegment> bind_segment(const Compilation& compilation,
                                           Segment segment,
                                           const Placement& placement,
                                           const BindOptions& options);

}  // namespace traingraph
