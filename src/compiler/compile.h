// SPDX-License-Identifier: MIT
// The whole way from a merged graph to plans, for one batch size: assemble,
// lower, schedule, plan. Allocates no device memory.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "compiler/assemble.h"
#include "compiler/plan.h"
#include "compiler/target.h"

namespace traingraph {

struct CompiledProgram {
  Variant variant;
  Assembled assembled;
  LoweredProgram lowered;
};

/// All plans that a graph may run, or one kind of them. Never changes. It
/// refers to no memory, no thread and no object of the user.
struct Compilation {
  struct Part {
    std::shared_ptr<const CompiledProgram> program;  // null: it was not made
    Plan plan;
  };

  std::shared_ptr<const MergedGraph> graph;
  std::int64_t batch = 0;
  std::array<Part, kNumPlanKinds> parts;  // by kind; they may share programs

  const Part& part(PlanKind kind) const {
    return parts[static_cast<std::size_t>(kind)];
  }
  const CompiledProgram& program(PlanKind kind) const {
    return *part(kind).program;
  }
  const Plan& plan(PlanKind kind) const { return part(kind).plan; }

  /// Training's, which is the first, and inference's, where they were made.
  /// They hold every tensor: a step has none that separate phases lack.
  std::vector<const CompiledProgram*> programs() const {
    std::vector<const CompiledProgram*> made;
    for (const PlanKind kind : {PlanKind::Phases, PlanKind::Inference}) {
      if (part(kind).program) made.push_back(part(kind).program.get());
    }
    return made;
  }
};

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
