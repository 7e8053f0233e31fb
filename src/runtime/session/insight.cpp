// SPDX-License-Identifier: MIT
// What a graph says of its plans and of the last measured run.
#include "compiler/insight.h"

#include <sstream>

#include "runtime/session/session.h"
#include "traingraph/error.h"

namespace traingraph {

Report CompiledGraph::report() const {
  std::scoped_lock lock(session_->mutex);
  session_->require_compiled("report");
  const PlanKind kind = session_->main_plan();
  const Compilation& main = session_->main();
  const CompiledProgram& compiled = main.program(kind);
  const Plan& plan = main.plan(kind);
  Report report;
  report.device = session_->placement.context()->description();
  report.batch_size = main.batch;
  report.memory = memory_spans(compiled, plan);
  report.arena_bytes = plan.memory.arena_bytes;
  UnitTable table(*main.graph, compiled, {});
  table.add(plan.order, {});
  table.finish(report);
  return report;
}

Profile CompiledGraph::profile(int) const {
  std::unique_lock lock(session_->mutex);
  session_->require_compiled("profile");
  const auto runs = session_->executor.profiled();
  const Device device = *session_->device;
  Profile profile;
  profile.device = session_->placement.context()->description();
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
      table.emplace(*compilation.graph,
                    compilation.program(plan_of(run->segment)), profile.peaks);
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

std::string CompiledGraph::plan_description() const {
  std::scoped_lock lock(session_->mutex);
  session_->require_compiled("plan_description");
  const Compilation& main = session_->main();
  std::ostringstream text;
  const auto describe = [&](const char* title, PlanKind kind) {
    const CompiledProgram& compiled = main.program(kind);
    const Plan& plan = main.plan(kind);
    text << title << ": arena " << plan.memory.arena_bytes
         << " bytes, live peak " << plan.memory.live_peak_bytes << '\n';
    for (std::size_t i = 0; i < plan.order.size(); ++i) {
      const Unit& unit = compiled.lowered.units[plan.order[i]];
      const Node& node = compiled.assembled.program.node(unit.nodes.front());
      text << "  " << i << ' ' << (unit.is_reorder ? "reorder" : node.op->name)
           << " \"" << node.name << '"';
      for (std::size_t k = 1; k < unit.nodes.size(); ++k) {
        const Node& next = compiled.assembled.program.node(unit.nodes[k]);
        text << " + " << next.op->name << " \"" << next.name << '"';
      }
      for (StorageId id : unit.writes) {
        const Storage& storage = compiled.lowered.storages[id];
        text << "  " << storage.bytes << " bytes";
        if (plan.offset_of[id] == Plan::kNotInArena) {
          text << " persistent";
        } else {
          text << " at " << plan.offset_of[id];
        }
      }
      text << '\n';
    }
  };
  if (main.graph->trains) {
    describe("step", PlanKind::Step);
    describe("phases", PlanKind::Phases);
  }
  describe("inference", PlanKind::Inference);
  return text.str();
}

}  // namespace traingraph
