// SPDX-License-Identifier: MIT
// How many samples a device has room for, by plans that are thrown away.
#include <algorithm>
#include <optional>

#include "base/checked.h"
#include "runtime/session/session.h"
#include "traingraph/error.h"
#include "traingraph/training_graph.h"

namespace traingraph {
namespace {

/// The search for a larger batch ends here.
constexpr std::int64_t kMaxSamples = std::int64_t{1} << 24;

/// Where the batch is, is not known of 1, which may be any axis.
void require_other_sizes(const MergedGraph& graph, std::int64_t batch) {
  if (graph.batch > 1 && !graph.batch_obstacle) return;
  ErrorInfo info{.op = "required_bytes",
                 .node = {},
                 .what = "the graph is compiled for a batch of " +
                         std::to_string(graph.batch) +
                         ", which does not tell where the batch is",
                 .expected = std::to_string(graph.batch),
                 .got = std::to_string(batch),
                 .hint = "Compile it for 2 samples or more."};
  if (graph.batch_obstacle) info = *graph.batch_obstacle;
  throw UnsupportedError(std::move(info));
}

class Room {
 public:
  explicit Room(const Session& session) : session_(session) {
    MemoryReport report;
    session.placement.report(report);
    other_bytes_ = report.persistent_bytes - report.input_bytes;
    const MergedGraph& graph = session.plan_cache->graph();
    if (!graph.accumulates_in_steps()) {
      other_bytes_ -= report.accumulator_bytes;
    }
  }

  std::size_t needed(std::int64_t batch) const {
    const Compilation& main = session_.main();
    if (batch == main.batch) return needed(main);
    require_other_sizes(*main.graph, batch);
    const PlanCache& plan_cache = *session_.plan_cache;
    return needed(compile_graph(main.graph,
                                session_.placement.context()->target(),
                                plan_cache.options(), batch));
  }

  /// What no plan can be made for does not fit.
  bool fits(std::size_t bytes, std::int64_t batch) const {
    try {
      return needed(batch) <= bytes;
    } catch (const ShapeError&) {
      return false;
    } catch (const UnsupportedError&) {
      return false;
    }
  }

  std::int64_t largest(std::size_t bytes) const {
    const MergedGraph& graph = *session_.main().graph;
    const bool has_one_size = graph.batch <= 1 || graph.batch_obstacle;
    if (has_one_size) return fits(bytes, graph.batch) ? graph.batch : 0;
    std::int64_t fitting = 0, too_large = graph.batch;
    while (fits(bytes, too_large)) {
      fitting = too_large;
      if (fitting >= kMaxSamples) return fitting;
      too_large = std::min(2 * too_large, kMaxSamples);
    }
    while (too_large - fitting > 1) {
      const std::int64_t between = fitting + (too_large - fitting) / 2;
      (fits(bytes, between) ? fitting : too_large) = between;
    }
    return fitting;
  }

 private:
  std::size_t needed(const Compilation& compilation) const {
    const Plan& plan = compilation.plan(session_.main_plan());
    const std::size_t own =
        checked_add(other_bytes_, plan.memory.arena_bytes, "memory");
    return checked_add(own, session_.placement.input_bytes(compilation),
                       "memory");
  }

  const Session& session_;
  std::size_t other_bytes_ = 0;
};

void require_batch(std::int64_t batch) {
  if (batch >= 1) return;
  throw InvalidArgument(
      ErrorInfo{.op = "required_bytes",
                .node = {},
                .what = "the batch size is out of range",
                .expected = "1 or more, or 0 for the compiled one",
                .got = std::to_string(batch),
                .hint = {}});
}

}  // namespace

std::size_t CompiledGraph::required_bytes(std::int64_t batch_size) const {
  std::scoped_lock lock(session_->mutex);
  session_->require_compiled("required_bytes");
  if (batch_size != 0) require_batch(batch_size);
  return Room(*session_).needed(batch_size == 0 ? session_->main().batch
                                                : batch_size);
}

bool CompiledGraph::fits(std::size_t device_bytes,
                         std::int64_t batch_size) const {
  return required_bytes(batch_size) <= device_bytes;
}

std::int64_t CompiledGraph::largest_batch(std::size_t device_bytes) const {
  std::scoped_lock lock(session_->mutex);
  session_->require_compiled("largest_batch");
  return Room(*session_).largest(device_bytes);
}

}  // namespace traingraph
