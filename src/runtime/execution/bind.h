// SPDX-License-Identifier: MIT
// Binding: the units of a segment get addresses, and so does what the host gets
// after it. Allocates the arenas it needs.
#pragma once

#include <functional>

#include "runtime/execution/batches.h"

namespace traingraph {

struct BindOptions {
  bool poisons_memory = false;
  /// Parameters whose update is left out.
  std::function<bool(TensorIndex)> skips_update;
};

std::shared_ptr<BoundSegment> bind_segment(const Compilation& compilation,
                                           Segment segment,
                                           const Placement& placement,
                                           const BindOptions& options);

}  // namespace traingraph
