// SPDX-License-Identifier: MIT
// What a graph says of its plans and of the last measured run.
#include <algorithm>
#include <sstream>

#include "compiler/distribution/bucket_spans.h"
#include "compiler/insight.h"
#include "runtime/exchange/exchange_spans.h"
#include "runtime/execution/measured_runs.h"
#include "runtime/insight/medians.h"
#include "runtime/session/session.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

Profile profile_of(const MeasuredRun& run, const std::string& device,
                   const DevicePeaks& peaks) {
  Profile profile;
  profile.device = device;
  profile.peaks = peaks;
  std::optional<UnitTable> table;
  int num_units = 0;
  for (const auto& part : run) {
    if (!part) continue;
    const Compilation& compilation = part->specialization->compilation;
    profile.batch_size = compilation.batch;
    if (!table) {
      table.emplace(*compilation.graph,
                    compilation.program(plan_of(part->entry_point)), peaks);
    }
    add_exchange(part->bound->host, part->host, num_units, profile);
    table->add(part->bound->units, part->seconds);
    num_units += static_cast<int>(part->bound->units.size());
  }
  table->finish(profile);
  return profile;
}

}  // namespace

Report CompiledGraph::report() const {
  std::unique_lock lock(session_->mutex);
  session_->require_compiled("report");
  DevicePeaks peaks;
  if (session_->exchange) {
    const Device device = *session_->device;
    lock.unlock();
    device.synchronize();
    peaks = device.context()->peaks();
    lock.lock();
    session_->require_compiled("report");
  }
  const PlanKind kind = session_->main_plan();
  const Compilation& main = session_->main();
  const CompiledProgram& compiled = main.program(kind);
  const Plan& plan = main.plan(kind);
  Report report;
  report.device = session_->placement.context()->description();
  report.batch_size = main.batch;
  report.memory = memory_spans(compiled, plan);
  report.arena_bytes = plan.memory.arena_bytes;
  count_casts(compiled, plan.order, report);
  report.notes = compiled.lowered.notes;
  report.rewrites = compiled.assembled.rewrites;
  report.batch_plans = session_->plan_cache->counts();
  report.buckets = bucket_spans(compiled, plan);
  report.shard_optimizer = main.graph->shards.has_value();
  report.synchronize_batch_norm = std::ranges::any_of(
      compiled.assembled.program.nodes(), reduces_statistics);
  UnitTable table(*main.graph, compiled, peaks);
  table.add(plan.order, {});
  table.finish(report);
  return report;
}

std::vector<std::string> CompiledGraph::notes() const {
  std::scoped_lock lock(session_->mutex);
  session_->require_compiled("notes");
  return session_->main().program(session_->main_plan()).lowered.notes;
}

Profile CompiledGraph::profile(int runs) const {
  if (runs < 1) {
    throw InvalidArgument(
        ErrorInfo{.op = "profile",
                  .what = "the number of runs is out of range",
                  .expected = "1 or more",
                  .got = std::to_string(runs)});
  }
  std::unique_lock lock(session_->mutex);
  session_->require_compiled("profile");
  const MeasuredRuns& measured = session_->executor.measured();
  const auto last = measured.last();
  const auto newest = measured.newest(static_cast<std::size_t>(runs));
  const Device device = *session_->device;
  const std::string description = session_->placement.context()->description();
  lock.unlock();
  if (!last) {
    throw StateError(ErrorInfo{
        .op = "profile",
        .what = "no execution since compile() measured its layers",
        .expected = "an execution with per_layer_profiling",
        .hint = "Pass per_layer_profiling to execute(), or to each of the "
                "three phases."});
  }
  last->wait();
  // Measured once, and not while the device does something else.
  device.synchronize();
  const DevicePeaks peaks = device.context()->peaks();
  std::vector<Profile> profiles;
  for (const MeasuredRun& run : newest) {
    if (!succeeded(run) || !are_alike(run, newest.front())) continue;
    profiles.push_back(profile_of(run, description, peaks));
  }
  return median_of(std::move(profiles));
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
      if (unit.is_prepared) text << "  prepared";
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
