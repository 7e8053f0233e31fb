// SPDX-License-Identifier: MIT
// The code of a unit: launches of kernels, one after the other. It is data:
// what binds it puts addresses in, and records or runs it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler/target.h"
#include "cuda/code/kernel.h"

namespace traingraph::cuda {

/// 8 bytes of a kernel's parameters: a number, or where an argument of the unit
/// is, plus `number` bytes.
struct Parameter {
  int arg = -1;
  std::int64_t number = 0;
};

struct Launch {
  KernelText text;
  LaunchShape shape;
  std::vector<Parameter> parameters;
  /// Where those of the kernel begin: one may be an array of ours.
  std::vector<std::uint32_t> starts;
  std::shared_ptr<const Kernel> kernel = {};  // since it was compiled
};

struct CudaCode : UnitCode {
  std::vector<Launch> launches;
};

}  // namespace traingraph::cuda
