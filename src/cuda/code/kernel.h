// SPDX-License-Identifier: MIT
// A kernel's text, and what it becomes. The text is all that a kernel is: equal
// texts are one kernel, in memory and in the cache on disk. It has no addresses
// in it, nor extents that follow the batch, so that graphs of other batch sizes
// find their kernels compiled.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "cuda/abi/driver.h"

namespace traingraph::cuda {

/// CUDA C++ in the subset of kernels/portable_cuda.cuh. The kernel's name in
/// `definition` is KERNEL.
struct KernelText {
  std::set<std::string> headers;  // of src/cuda/kernels
  std::string definition;
  auto operator<=>(const KernelText&) const = default;
};

/// Loaded on a card.
struct Kernel {
  std::shared_ptr<const void> module;  // keeps it loaded
  FunctionHandle function = nullptr;
};

/// One launch but for its addresses.
struct LaunchShape {
  unsigned blocks = 1;
  unsigned threads = 256;
  unsigned shared_bytes = 0;  // beyond what the text declares
};

}  // namespace traingraph::cuda
