// SPDX-License-Identifier: MIT
// Executor: the order of a graph's calls. It checks each one, writes its data,
// enqueues it, and keeps what holds for the calls that follow.
//
// Failures: data reaches the device even when its execution is skipped; what a
// failed or skipped execution computes fails each execution that depends on it
// and each read of it, and its update is not counted in the optimizer's step.
// One that was cancelled in time is skipped. Steps behind what is skipped have
// the numbers, and so the bits, that they would have had without it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/fair_mutex.h"
#include "runtime/execution/accumulation.h"
#include "runtime/execution/exchange_turn.h"
#include "runtime/execution/in_flight.h"
#include "runtime/execution/inputs.h"
#include "runtime/execution/measured_runs.h"
#include "runtime/execution/optimizer_step.h"
#include "runtime/execution/phase_order.h"
#include "runtime/execution/random_state.h"
#include "runtime/execution/settings.h"
#include "runtime/execution/state_pool.h"

namespace traingraph {

struct Session;

/// What a graph that runs is made of; see session.h.
struct ExecutorParts {
  FairMutex& mutex;
  std::unique_ptr<PlanCache>& plan_cache;
  const UserObjects& objects;
  Placement& placement;
  Inputs& inputs;
  LinkParticipant& link;
  InFlight& in_flight;
  const std::shared_ptr<Exchange>& exchange;  // null: with nobody
};

class Executor {
 public:
  /// `owner` is kept by work in flight.
  Executor(std::enable_shared_from_this<Session>& owner, ExecutorParts parts);

  /// What compile() was told; `seed` is of dropout.
  void configure(const Declaration& declaration, bool poison_memory,
                 std::uint64_t seed);
  /// After compile.
  void start();
  /// Nothing that ran before counts any more.
  void forget();
  /// The forward and gradient passes so far do not count any more.
  void forget_phases() {
    phases_.forget_phases();
    accumulation_.forget();
  }

  Execution execute(const CallData& data, const ExecuteOptions& options);
  Execution execute_forward(const CallData& data,
                            const ExecuteOptions& options);
  Execution execute_gradient(const ExecuteOptions& options);
  Execution execute_update(const ExecuteOptions& options);

  int num_specialized() const { return num_specialized_; }
  std::size_t staging_bytes() const { return pool_.staging_bytes(); }
  RandomState& random_state() { return random_state_; }
  const RandomState& random_state() const { return random_state_; }
  const PhaseOrder& phases() const { return phases_; }
  /// What profile() shows.
  const MeasuredRuns& measured() const { return measured_; }

 private:
  /// A permit for one more execution: it waits until there is room in flight,
  /// then takes the mutex, so that a call that waits for room stops no other.
  class InFlightPermit {
   public:
    explicit InFlightPermit(const ExecutorParts& parts);
    ~InFlightPermit();
    InFlightPermit(const InFlightPermit&) = delete;
    InFlightPermit& operator=(const InFlightPermit&) = delete;
    /// The room belongs to the execution from now on.
    void pass_on() { is_held_ = false; }
    void end() { lock_.unlock(); }

   private:
    InFlight& in_flight_;
    bool is_held_ = true;
    std::unique_lock<FairMutex> lock_;
  };

  bool trains() const { return parts_.plan_cache->graph().trains; }
  void require_device(const char* call) const;
  void require_seed(const char* call) const;
  EntryPoint inference_entry_point(const CallData& data, bool skips_writing);
  Execution enqueue(Call call, const ExecuteOptions& options,
                    InFlightPermit& permit);
  void check(Call& call, const ExecuteOptions& options);
  std::shared_ptr<ExecutionState> prepare(const Call& call,
                                          const ExecuteOptions& options);
  std::shared_ptr<Specialization> specialization_for(std::int64_t batch,
                                                     PlanKind kind);
  std::shared_ptr<const BoundEntryPoint> bound(Specialization& specialization,
                                               EntryPoint entry_point);
  void grow_arenas(const Compilation& compilation);
  void submit(const std::shared_ptr<ExecutionState>& state);

  std::enable_shared_from_this<Session>& owner_;
  ExecutorParts parts_;
  bool poison_memory_ = false;
  StatePool pool_;
  int num_specialized_ = 0;  // batch sizes since the first compile

  Settings settings_;
  RandomState random_state_;
  OptimizerStep optimizer_step_;
  Accumulation accumulation_;
  ExchangeTurn exchange_turn_;
  PhaseOrder phases_;
  MeasuredRuns measured_;
  /// In their order. Links come before the optimizer, whose step they may end,
  /// the exchange before the accumulation, whose samples it announces.
  std::vector<Participant*> participants_;
};

}  // namespace traingraph
