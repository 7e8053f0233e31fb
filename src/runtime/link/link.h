// SPDX-License-Identifier: MIT
// Link: what several graphs share while they are linked. LinkMember: one
// graph's view of its link, and which of the graph's gradients have no source.
//
//   first:  x -> A -> t          t's user gradient  <--+  one storage
//   second: t -> B -> loss       t's accumulator    ---+
//   parameters of both: one buffer anyway (tensors know it), one accumulator,
//   and the first graph with an optimizer updates them.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "formulas/run_time_scalars.h"
#include "runtime/execution/inputs.h"
#include "runtime/execution/participant.h"
#include "runtime/plans/linked_parts.h"

namespace traingraph {

struct Session;

/// The gradient pass that left a contribution in a shared accumulator.
using Contribution = std::shared_ptr<ExecutionState>;

class LinkMember;

struct Link {
  /// The mutex is held from when an execution's factors are chosen until it is
  /// submitted.
  std::mutex mutex;
  /// Shared accumulators have the contribution that no update, or no gradient
  /// pass of the producing graph, has consumed yet.
  std::unordered_map<const DeviceStorage*, Contribution> contributions;
  std::unordered_map<const TensorState*, ExportedResult> results;
  /// Graphs that use the same optimizer object, and those of them that have
  /// updated in its current step; it has room for all.
  struct SharedOptimizer {
    std::vector<const LinkMember*> users, updated;
  };
  std::unordered_map<const Optimizer*, SharedOptimizer> optimizers;
  /// A graph reads results of another one. Then all executions are one chain:
  /// a failed one fails all that would read what it did not compute.
  bool shares_results = false;
  std::shared_ptr<ExecutionState> last;
  /// A graph was compiled or linked again.
  std::atomic<bool> is_broken{false};
  /// Expired: the user has dropped the graph, so it cannot run any more, even
  /// if work in flight still keeps the session alive.
  std::vector<std::weak_ptr<Session>> handles;
};

class LinkMember final : public LinkParticipant {
 public:
  LinkMember(Placement& placement, Inputs& inputs)
      : placement_(placement), inputs_(inputs) {}
  ~LinkMember() override { leave(); }

  /// Is called after compile. `main` outlives what is asked afterwards.
  void start(const Compilation& main, const UserObjects& objects);
  /// Breaks the link for all of its graphs. Those that read this one's results
  /// hold that memory, so it stays allocated.
  void leave() noexcept;
  Link* link() const { return link_.get(); }
  /// Forgets, in all graphs of the link, what gradient passes and updates so
  /// far have left.
  void forget_passes() noexcept;

  bool is_linked() const override { return link_ != nullptr; }
  bool skips_update(TensorIndex parameter) const override;
  bool is_upstream(const MergedGraph::UserGradient& user) const override {
    return upstream_[user.gradient];
  }
  bool shares_gradients() const override;
  bool ends_step() noexcept override;
  std::unique_lock<std::mutex> lock() override;

  void check(const Call& call) override;
  void stage(const Call& call, HostWriter& writer,
             ExecutionState& state) override;
  void commit(const Call& call,
              const std::shared_ptr<ExecutionState>& state) noexcept override;

 private:
  friend class LinkBuilder;

  void find_live_gradients();
  void index_accumulators();
  /// Throws StateError unless linked graphs have computed what a call reads.
  void require_order(const Call& call) const;
  /// The execution that the next one has to wait for; null: none.
  std::shared_ptr<ExecutionState> dependency(EntryPoint entry_point) const;
  /// Writes whether gradients are added to what linked graphs have left, and
  /// how to what waits for the update here.
  void write_factors(HostWriter& writer, ExecutionState& state,
                     EntryPoint entry_point, const GradientPass& pass);
  /// Says which updates are not left out.
  void write_updated(HostWriter& writer) const;
  void start_update() noexcept;
  void count_contributions(const Contribution& state) noexcept;
  void advance(EntryPoint entry_point, const Contribution& state) noexcept;
  const MergedGraph& graph() const { return *main_->graph; }
  PlanKind shared_plan() const {
    return graph().trains ? PlanKind::Phases : PlanKind::Inference;
  }
  void require_source(const Call& call, const Input& input) const;
  Contribution* contribution_in(TensorIndex tensor) const;

  Placement& placement_;
  Inputs& inputs_;
  const Compilation* main_ = nullptr;
  const UserObjects* objects_ = nullptr;

  std::shared_ptr<Link> link_;
  /// Tables are by tensor. not_updated_: parameters that another graph updates
  /// or that have no gradient. upstream_: user gradients that linked graphs
  /// supply. live_: parameters and inputs whose gradient comes from a loss or
  /// from a user gradient that the user or a linked graph supplies.
  std::vector<bool> not_updated_, upstream_, live_;
  /// Results that linked graphs read in this graph's arena, and arenas of
  /// linked graphs that this one reads: they outlive the graph that computes
  /// them.
  std::vector<ExportedResult*> exported_;
  std::vector<std::shared_ptr<Arena>> imported_;
  /// The factors of MergedGraph::accumulators, and what of the link they and
  /// the end of a gradient pass or update concern; null where nothing is
  /// shared.
  std::vector<formulas::AccumulationFactors> factors_;
  std::vector<Contribution*> added_to_;  // by accumulator
  std::vector<bool> adds_;               // by accumulator: more than zeros
  std::vector<Contribution*> used_by_gradient_, used_by_update_;
};

}  // namespace traingraph
