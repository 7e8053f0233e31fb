// SPDX-License-Identifier: MIT
// The passes, in the order in which they run. Each changes one program (and the
// tables that name its values) and nothing else; the invariants of verify()
// hold after each, which builds with assertions check.
#pragma once

#include "compiler/assemble.h"
#include "compiler/target.h"

namespace traingraph {

/// Passes may look at nothing else.
struct PassContext {
  const MergedGraph& graph;
  const Variant& variant;
  std::int64_t batch;
  const Target& target;
  const CompilerOptions& options;

  bool differentiates() const {
    return graph.trains && variant.mode == Mode::Training;
  }
};

/// Throws InternalError naming the pass that broke an invariant.
void run_passes(const PassContext& context, Assembled& assembled);

}  // namespace traingraph
