// SPDX-License-Identifier: MIT
// The code of a unit: launches of kernels and products of cuBLASLt, one after
// the other. It is data:
// what binds it puts addresses in, and records or runs it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compiler/target.h"
#include "cuda/code/kernel.h"
#include "cuda/code/library_product.h"

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

/// Arguments of the unit; -1: none.
struct LibraryProduct {
  ProductRequest request;
  int x = -1, y = -1, bias = -1, z = -1;
  int workspace = -1;  // scratch, whose size follows from the algorithm
  std::optional<ProductAlgorithm> algorithm = {};  // since it was found
};

using CodeStep = std::variant<Launch, LibraryProduct>;

struct CudaCode : UnitCode {
  std::vector<CodeStep> steps;
};

}  // namespace traingraph::cuda
