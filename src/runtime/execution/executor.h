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

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/fair_mutex.h"
#include "runtime/execution/accumulation.h"
#include "runtime/execution/batches.h"
#include "runtime/execution/call.h"
#include "runtime/execution/in_flight.h"
#include "runtime/execution/inputs.h"
#include "runtime/execution/settings.h"
#include "runtime/execution/slot_pool.h"
#include "runtime/insight/measured_runs.h"
#include "runtime/link/link.h"

namespace traingraph {

/// What a graph that runs is made of; see session.h.
struct ExecutorParts {
  FairMutex& mutex;
  std::unique_ptr<Batches>& batches;
  const UserObjects& objects;
  Placement& placement;
  Inputs& inputs;
  LinkMember& link;
  InFlight& in_flight;
  const std::shared_ptr<Exchange>& exchange;  // null: with nobody
};

class Executor {
 public:
  /// `owner` is kept by work in flight.
  Executor(std::enable_shared_from_this<Session>& owner, ExecutorParts parts)
      : owner_(owner), parts_(parts) {}

  struct Settings {
    traingraph::Settings of_layers;
    bool poisons_memory = false;
    std::uint64_t seed = 0;
  };
  /// After compile.
  void start(Settings settings);
  /// Nothing that ran before counts any more.
  void forget();
  /// The forward and gradient passes so far do not count any more.
  void forget_phases() {
    phase_ = PhaseState::Clean;
    accumulation_.forget();
  }

  Execution execute(const CallData& data, const ExecuteOptions& options);
  Execution execute_forward(const CallData& data,
                            const ExecuteOptions& options);
  Execution execute_gradient(const ExecuteOptions& options);
  Execution execute_update(const ExecuteOptions& options);

  int num_specialized() const { return num_specialized_; }
  std::size_t staging_bytes() const { return pool_.staging_bytes(); }
  std::uint64_t random_step() const { return random_steps_.next().value; }
  void set_random_step(std::uint64_t step) { random_steps_.set(step); }
  /// Of dropout; compile() starts with it.
  std::uint64_t seed() const { return settings_.seed; }
  void set_seed(std::uint64_t seed) { settings_.seed = seed; }
  /// The last execution that computed readable values; null: none.
  const std::shared_ptr<ExecutionState>& last() const { return last_; }
  /// The last gradient pass of separate phases; null: none.
  const std::shared_ptr<ExecutionState>& last_gradient() const {
    return last_gradient_;
  }
  /// What profile() shows.
  const MeasuredRuns& measured() const { return measured_; }

 private:
  enum class PhaseState { Clean, ForwardDone, GradientDone };

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
  Execution enqueue(const Call& call, const ExecuteOptions& options,
                    Turn& turn);
  std::int64_t check(const Call& call, const ExecuteOptions& options);
  std::shared_ptr<ExecutionState> prepare(const Call& call,
                                          const ExecuteOptions& options,
                                          std::int64_t batch);
  std::shared_ptr<Specialization> specialization_for(std::int64_t batch,
                                                     PlanKind kind);
  std::shared_ptr<const BoundSegment> bound(Specialization& specialization,
                                            Segment segment);
  void grow_arenas(const Compilation& compilation);
  void write_hidden(HostWriter& writer, ExecutionState& slot, const Call& call);
  void write_weights(HostWriter& writer);
  std::uint64_t seed_of_rank() const;
  void write_rates(HostWriter& writer, ExecutionState& slot);
  void take_turn_among_ranks(ExecutionState& slot, const GradientPass& pass,
                             std::int64_t batch) noexcept;
  void submit(const std::shared_ptr<ExecutionState>& slot);
  void advance(const Call& call, std::int64_t batch,
               const std::shared_ptr<ExecutionState>& slot) noexcept;
  void count_update(ExecutionState& slot) noexcept;

  std::enable_shared_from_this<Session>& owner_;
  ExecutorParts parts_;
  Settings settings_;
  SlotPool pool_;
  int num_specialized_ = 0;  // batch sizes since the first compile

  std::shared_ptr<ExecutionState> last_, last_gradient_;
  PhaseState phase_ = PhaseState::Clean;
  std::int64_t phase_batch_ = 0;
  std::shared_ptr<ExecutionState> last_phase_;
  Accumulation accumulation_;
  MeasuredRuns measured_;
  RandomSteps random_steps_;
};

}  // namespace traingraph
