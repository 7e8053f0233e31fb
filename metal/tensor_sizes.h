// SPDX-License-Identifier: MIT
// TensorSizes: what a lowering made that no system can hold. MPSGraph ends the
// process for it, long after the graph was made.
#pragma once

#include <string>
#include <unordered_set>

#import "metal/apple.h"
#include "metal/gpu_limits.h"

namespace traingraph::metal {

class TensorSizes {
 public:
  explicit TensorSizes(const GpuLimits& limits) : limits_(limits) {}

  /// The first tensor that is too large among `tensor` and what it is computed
  /// from, as "(65536, 65536), 17179869184 bytes"; empty when there is none.
  /// Looks at each operation once, whatever tensor led to it.
  std::string find_too_large(MPSGraphTensor* tensor);

 private:
  std::string too_large(MPSGraphTensor* tensor) const;

  const GpuLimits& limits_;
  std::unordered_set<const void*> seen_;  // operations; the graph owns them
};

}  // namespace traingraph::metal
