// SPDX-License-Identifier: MIT
// Session: everything behind a TrainingGraph or InferenceGraph, in parts that
// each have one owner and one time at which they change:
//
//   declaration   what the user said                     until compile
//   plan_cache    compiled programs and plans            never; one per batch
//   placement     device memory                          at compile, at link
//   inputs, link, executor                               each call
//
// `mutex` guards all of them and is held while a call is checked and enqueued,
// so that the order of calls is the order of executions. Work in flight touches
// only its own state, the arenas and the counters of what is in flight.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/fair_mutex.h"
#include "compiler/declaration.h"
#include "compiler/merge.h"
#include "runtime/execution/executor.h"
#include "runtime/link/link.h"
#include "runtime/session/name_index.h"
#include "traingraph/training_graph.h"

namespace traingraph {

struct Session : std::enable_shared_from_this<Session> {
  /// Throws StateError.
  void require_compiled(const char* call) const;
  void require_not_compiled(const char* call) const;
  /// Throws StateError when it is not compiled, DeviceLostError when its device
  /// is lost.
  void require_device(const char* call) const;
  /// The program that execute() runs.
  PlanKind main_plan() const {
    return plan_cache->graph().trains ? PlanKind::Step : PlanKind::Inference;
  }
  const Compilation& main() const { return plan_cache->main()->compilation; }
  /// Layers say on which device they are compiled.
  void place_layers() const;

  mutable FairMutex mutex;
  Declaration declaration;

  std::optional<Device> device;
  int num_compiles = 0;
  /// A session from a file has no layers.
  bool is_loaded = false;
  /// restore() found this seed; else compile() takes the platform's.
  std::optional<std::uint64_t> restored_seed;
  /// The user's tensors and layers; compiled parts know them by index.
  UserObjects objects;
  std::unique_ptr<PlanCache> plan_cache;  // null: not compiled
  Placement placement;

  Inputs inputs;
  InFlight in_flight;
  std::shared_ptr<Exchange> exchange;  // null: there is one process
  LinkMember link{placement, inputs};
  Executor executor{*this,
                    {mutex, plan_cache, objects, placement, inputs, link,
                     in_flight, exchange}};

  NameIndex names;
  /// Tensors that read gradients on the device, by what they are gradients of.
  std::unordered_map<const TensorState*, Tensor> gradient_tensors;
};

// --- compile.cpp ---
void compile(Session& session, const Device& device,
             const CompileOptions& options, const TensorMap& constants,
             DataList constants_data);
void compile_optimizer(Session& session, OptimizerPtr optimizer);
/// Puts what was read from a file into a session that has declared nothing.
void compile_loaded(Session& session, const Device& device,
                    const Merged& merged, const CompilerOptions& options);

// --- link_sessions.cpp ---
/// Joins graphs; the first comes first in forward order. Handles as users hold
/// them. Throws InvalidArgument, StateError; then no graph is linked.
void link_sessions(const std::vector<std::shared_ptr<Session>>& handles);

// --- compiled_graph.cpp ---
/// Parameters and running statistics that live where the graph placed them,
/// once each, in order.
std::vector<TensorIndex> variables_of(const Session& session);

// --- readable.cpp ---
/// Makes outputs, gradients and results of debugged layers readable.
void create_readable_tensors(Session& session);

}  // namespace traingraph
