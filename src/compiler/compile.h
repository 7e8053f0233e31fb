// SPDX-License-Identifier: MIT
// The whole way from a merged graph to plans, for one batch size: assemble,
// lower, schedule, plan. Allocates no device memory.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "compiler/assemble.h"
#include "compiler/plan.h"
#include "compiler/target.h"

namespace traingraph {

struct CompilerOptions {
  bool fuses = true;
  bool reuse_memory = true;
  double max_gpu_ms = 0;  // see LowerOptions
  /// See CompileOptions.
  std::size_t batch_plans_bytes = std::size_t{1} << 30;
  /// The order is find_exchange_order()'s.
  CollectiveOptions collectives = {};

  bool has_collectives() const { return collectives.bucket_bytes > 0; }
};

/// A program in one mode, lowered.
struct CompiledProgram {
  Assembled assembled;
  LoweredProgram lowered;
};

/// Of all plans that a graph may run, or of one kind. Never changes. It refers
/// to no memory, no thread and no object of the user.
struct Compilation {
  std::shared_ptr<const MergedGraph> graph;
  std::int64_t batch = 0;
  std::optional<CompiledProgram> training;  // training graphs only
  /// The same for one timeline, where that makes another program: rows that
  /// are updated as they are computed, no accumulators.
  std::optional<CompiledProgram> joined;
  Plan step;    // of `joined`, or of `training`
  Plan phases;  // of `training`
  CompiledProgram inference;
  Plan inference_plan;

  const CompiledProgram& program(PlanKind kind) const {
    if (kind == PlanKind::Inference) return inference;
    return kind == PlanKind::Step && joined ? *joined : *training;
  }
  const Plan& plan(PlanKind kind) const {
    if (kind == PlanKind::Inference) return inference_plan;
    return kind == PlanKind::Step ? step : phases;
  }
};

/// What a training graph's first batch size suggests.
std::vector<TensorIndex> find_exchange_order(const MergedGraph& graph,
                                             const Target& target,
                                             std::int64_t batch);

Compilation compile_graph(std::shared_ptr<const MergedGraph> graph,
                          const Target& target, const CompilerOptions& options,
                          std::int64_t batch);

/// One kind of plan, for another batch size. `larger` is the compilation of the
/// most samples, whose arenas it may use up: a plan that fits into them is
/// found in a fraction of the time. Null: its arena shall be small.
Compilation compile_batch(std::shared_ptr<const MergedGraph> graph,
                          const Target& target, const CompilerOptions& options,
                          std::int64_t batch, PlanKind kind,
                          const Compilation* larger = nullptr);

}  // namespace traingraph
