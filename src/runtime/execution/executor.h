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
#include "runtime/execution/slot_pool.h"

namespace traingraph {

struct Session;

/// What a graph that runs is made of; see session.h.
struct ExecutorParts {
  FairMutex& mutex;
  std::unique_ptr<Batches>& batches;
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
  void configure(const Declaration& declaration, bool poisons_memory,
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
  /// A call's turn: it waits until there is room in flight, then takes the
  /// mutex, so that a call that waits for room stops no other.
  class Turn {
   public:
    explicit Turn(const ExecutorParts& parts);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    /// The room belongs to the execution from now on.
    void give_room() { has_room_ = false; }
    void end() { lock_.unlock(); }

   private:
    InFlight& in_flight_;
    bool has_room_ = true;
    std::unique_lock<FairMutex> lock_;
  };

  bool trains() const { return parts_.batches->graph().trains; }
  void require_seed(const char* call) const;
  Segment inference_segment(const CallData& data, bool skips_writing);
  Execution enqueue(Call call, const ExecuteOptions& options, Turn& turn);
  void check(Call& call, const ExecuteOptions& options);
  std::shared_ptr<ExecutionState> prepare(const Call& call,
                                          const ExecuteOptions& options);
  std::shared_ptr<Specialization> specialization_for(std::int64_t batch,
                                                     PlanKind kind);
  std::shared_ptr<const BoundSegment> bound(Specialization& specialization,
                                            Segment segment);
  void grow_arenas(const Compilation& compilation);
  void submit(const std::shared_ptr<ExecutionState>& slot);

  std::enable_shared_from_this<Session>& owner_;
  ExecutorParts parts_;
  bool poisons_memory_ = false;
  SlotPool pool_;
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
