// SPDX-License-Identifier: MIT
// ExecutionState: one execution, of a graph's pool. It is the submission that
// the device's queue runs, and what Execution and ExecutionResult point to. A
// state is free again when only the pool holds it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/condition_variable.h"
#include "formulas/run_time_scalars.h"
#include "runtime/device/callback_thread.h"
#include "runtime/device/device_context.h"
#include "runtime/exchange/host_run.h"
#include "runtime/execution/bind.h"
#include "runtime/execution/time_steps.h"
#include "runtime/execution/unit_times.h"
#include "traingraph/execution.h"
#include "traingraph/optimizers.h"

namespace traingraph {

class InFlight;

class ExecutionState final : public Submission, public Computation {
 public:
  ExecutionState() = default;

  // --- the executor, before submit ---
  /// Makes a used state fresh; keeps buffers and capacities.
  void reset();
  /// Staging for data that is written while earlier work is in flight.
  std::byte* stage(DeviceContext& context, Location to, std::size_t bytes);
  /// Copies `plan`'s outputs after the work.
  void fetch(DeviceContext& context, const OutputPlan& plan,
             std::shared_ptr<const Specialization> specialization);
  /// Also into the caller's memory, before the waiter wakes. A callback keeps
  /// its owner.
  void copy_output_to(std::size_t output, const TensorData& data);
  /// For when the work is over: on the callback thread, or here when it is.
  void add_callbacks(Callbacks callbacks) noexcept;
  /// A failure of `other` (may be null), which is earlier in the queue, skips
  /// this one.
  void depend_on(std::shared_ptr<ExecutionState> other);
  /// Data that passes and updates stage while earlier ones run: how many
  /// tensors, and how large they are at most.
  struct Hidden {
    std::size_t count = 1;  // the hyperparameters of an update
    std::size_t bytes = 0;
  };
  /// Room for data like that of `other`, which it has staged, and for hidden
  /// data.
  void prepare_like(DeviceContext& context, const ExecutionState& other,
                    Hidden hidden);
  /// Of an update that is enqueued, and where its hyperparameters were written.
  /// `optimizer` and `at` outlive the work.
  struct Hyperparameters {
    Optimizer* optimizer = nullptr;
    StepNumber number = {};
    std::byte* at = nullptr;
    formulas::Hyperparameters values = {};
    RateRule rule = {};
    /// A failure gives the number back.
    bool counts = false;

    /// All but the memory of the rule.
    void forget() noexcept {
      optimizer = nullptr;
      number = {};
      at = nullptr;
      values = {};
      counts = false;
    }
  };
  /// Of a forward pass, and where its number was written, in 64 bits.
  struct Drawn {
    RandomSteps* steps = nullptr;
    StepNumber number = {};
    std::byte* at = nullptr;
  };
  /// Submits the work with its staged copies, to a device that may fail as one.
  /// `self` and the owner of `in_flight` stay alive until the work is over;
  /// `number` is of the latter.
  void start(std::shared_ptr<ExecutionState> self,
             std::shared_ptr<InFlight> in_flight, std::uint64_t number,
             bool fails_as_one) noexcept;

  // --- Submission ---
  void begin() noexcept override;
  std::exception_ptr blocked() noexcept override;
  bool is_waiting() noexcept override;
  void reached(std::size_t mark) override;
  void finished(std::exception_ptr error, double seconds) noexcept override;

  // --- the user ---
  bool cancel() noexcept;
  bool is_dropped() const { return stage_.load() == Stage::Dropped; }
  /// A wait for this was interrupted: nothing begins any more of what the graph
  /// has enqueued.
  void drop_waiting() const noexcept;
  void wait() const;
  bool wait_for(double seconds) const;
  bool is_done() const override {
    return done_.load(std::memory_order_acquire);
  }
  std::exception_ptr error() const override;
  bool is_settled() const override;
  std::exception_ptr failure() const override;
  std::size_t staging_bytes() const;

  const char* call = "execute";  // that enqueued this
  Hyperparameters hyperparameters;
  Drawn drawn;
  bool is_profiled = false;
  std::shared_ptr<UnitTimes> unit_times;  // null: not measured
  EntryPoint entry_point = EntryPoint::Step;
  double seconds = 0;
  std::vector<OutputView> outputs;
  std::optional<OutputView> result;
  std::vector<OutputView> losses;
  std::shared_ptr<const Specialization> specialization;
  std::shared_ptr<const BoundEntryPoint> bound;
  HostRun host;  // of the units of `bound`

 private:
  /// Waiting, and then one of the others: it runs; it was cancelled, or what it
  /// depends on was; what it depends on failed.
  enum class Stage : std::uint8_t { Waiting, Begun, Dropped, Skipped };

  bool is_to_be_dropped() const noexcept;
  std::exception_ptr failure_before() const noexcept;
  void take_numbers() noexcept;
  void give_numbers_back() noexcept;

  struct UserCopy {
    std::byte* to;
    const std::byte* from;
    std::size_t bytes;
  };

  std::vector<std::shared_ptr<StagingBuffer>> input_staging_;
  std::size_t num_staged_ = 0;  // buffers of input_staging_ in use
  std::shared_ptr<StagingBuffer> output_staging_;
  std::vector<Upload> to_upload_;
  std::vector<Download> to_download_;
  std::vector<UserCopy> user_copies_;
  float* sum_of_losses_ = nullptr;  // set when there is one to compute
  Callbacks callbacks_;
  std::vector<std::shared_ptr<ExecutionState>> depends_on_;
  std::shared_ptr<ExecutionState> self_;
  std::shared_ptr<InFlight> in_flight_;
  std::uint64_t number_ = 0;         // of in_flight_
  std::uint64_t cancel_number_ = 0;  // see cancel_scope.h; 0: no
  bool fails_as_one_ = false;        // and has no marks
  // Threads of the queue use these.
  bool has_begun_ = false;
  std::exception_ptr blocked_;
  std::atomic<Stage> stage_{Stage::Waiting};
  std::exception_ptr error_;
  std::atomic<bool> done_{false};
  mutable std::mutex mutex_;
  mutable std::condition_variable finished_;
};

/// A loss that was reduced, and its value.
bool is_number(const OutputView& loss);
float number(const OutputView& loss);

}  // namespace traingraph
