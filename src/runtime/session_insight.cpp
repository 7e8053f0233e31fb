// SPDX-License-Identifier: MIT
// What a session says of its plan and of the last measured run.
#include "compiler/insight.h"
#include "runtime/session.h"
#include "traingraph/error.h"

namespace traingraph {

Report Session::report() const {
  std::scoped_lock lock(mutex_);
  require_compiled("report");
  const auto kind = declaration_.trains ? PlanKind::Step : PlanKind::Inference;
  const CompiledProgram& compiled = main_->compilation.program(kind);
  const Plan& plan = main_->compilation.plan(kind);
  Report report;
  report.device = context_->description();
  report.batch_size = batch_;
  report.memory = memory_spans(compiled, plan);
  report.arena_bytes = plan.memory.arena_bytes;
  UnitTable table(compiled, {});
  table.add(plan.order, {});
  table.finish(report);
  return report;
}

/// A gradient pass and an update go on with the run of the pass before them.
void Session::remember_profiled(
    const Call& call, const std::shared_ptr<ExecutionState>& slot) noexcept {
  const std::size_t at = call.segment == Segment::Gradient ? 1
                         : call.segment == Segment::Update ? 2
                                                           : 0;
  const bool goes_on =
      at > 0 && call.depends_on && profiled_[at - 1] == call.depends_on;
  if (!goes_on) profiled_ = {};
  profiled_[at] = slot;
}

Profile Session::profile() const {
  std::unique_lock lock(mutex_);
  require_compiled("profile");
  const auto runs = profiled_;
  const Device device = *device_;
  Profile profile;
  profile.device = context_->description();
  lock.unlock();
  std::optional<UnitTable> table;
  for (const auto& run : runs) {
    if (!run) continue;
    run->wait();
    const Compilation& compilation = run->specialization->compilation;
    if (!table) {
      profile.batch_size = compilation.batch;
      // Measured once, and not while the device does something else.
      device.synchronize();
      profile.peaks = device.context()->peaks();
      table.emplace(compilation.program(plan_of(run->segment)), profile.peaks);
    }
    table->add(run->bound->units, run->unit_times);
  }
  if (!table) {
    throw StateError(ErrorInfo{
        .op = "profile",
        .what = "no execution since compile() measured its layers",
        .expected = "an execution with per_layer_profiling",
        .hint = "Pass per_layer_profiling to execute(), or to each of the "
                "three phases."});
  }
  table->finish(profile);
  return profile;
}

}  // namespace traingraph
