// SPDX-License-Identifier: MIT
// Which filters MPSNN computes as this library means them. Plain C++, tested
// everywhere.
#pragma once

#include <string>

#include "graph/image_filter.h"
#include "metal/gpu_limits.h"

namespace traingraph::metal {

/// A filter and the sizes of its images.
struct FilterView {
  const Program& program;
  const ImageFilter& filter;
  const GpuLimits& limits;
  bool has_gradient = false;  // of any source
  bool has_label_gradient = false;

  const Shape& source(int i = 0) const {
    return program.shape(filter.sources[i]);
  }
  const Shape& result() const { return program.shape(filter.result); }
};

/// Why no class of MPSNN is this filter and, where it is differentiated, its
/// gradient; empty: one is.
std::string reason_without_class(const FilterView& view);

/// Says why MPSNN does not run a loss. `descriptor` is the filter's.
std::string reason_of_loss(const FilterView& view, const LossFilter& loss);

}  // namespace traingraph::metal
