// SPDX-License-Identifier: MIT
// The whole way from a declaration to plans, for one batch size: assemble,
// lower, schedule, plan. Allocates no device memory.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/assemble.h"
#include "compiler/plan.h"
#include "compiler/target.h"

namespace traingraph {

struct CompilerOptions {
  bool fuses = true;
  bool reuses_memory = true;
};

/// A program in one mode, lowered.
struct CompiledProgram {
  Assembled assembled;
  LoweredProgram lowered;
};

struct Compilation {
  std::int64_t batch = 0;
  std::optional<CompiledProgram> training;  // training graphs only
  Plan step, phases;                        // of `training`
  CompiledProgram inference;
  Plan inference_plan;

  const CompiledProgram& program(PlanKind kind) const {
    return kind == PlanKind::Inference ? inference : *training;
  }
  const Plan& plan(PlanKind kind) const {
    if (kind == PlanKind::Inference) return inference_plan;
    return kind == PlanKind::Step ? step : phases;
  }
};

Compilation compile_graph(const Declaration& declaration, const Target& target,
                          const CompilerOptions& options, std::int64_t batch);

}  // namespace traingraph
