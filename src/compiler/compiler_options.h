// SPDX-License-Identifier: MIT
// What the compiler is told besides the graph and the batch size.
#pragma once

#include <cstddef>

#include "compiler/distribution/collective_options.h"

namespace traingraph {

struct CompilerOptions {
  /// Nodes become one where a kernel does the work of several, and a layer
  /// where its ops were written one by one (recognize_layers.h).
  bool fuses = true;
  bool reuse_memory = true;
  double max_gpu_ms = 0;  // see LowerOptions
  /// See CompileOptions.
  std::size_t batch_plans_bytes = std::size_t{1} << 30;
  CollectiveOptions collectives = {};
};

}  // namespace traingraph
