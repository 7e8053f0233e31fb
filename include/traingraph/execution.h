// SPDX-License-Identifier: MIT
// Execution: one enqueued piece of work, and its result. Every execute* call
// returns one; dropping it is fine, the work runs all the same.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "traingraph/tensor.h"

namespace traingraph {

class ExecutionState;

/// Contents of one output; keeps the memory of all its views alive.
struct OutputView {
  std::string_view name;
  TensorDescriptor descriptor;  // of the batch that ran
  std::span<const std::byte> data;
  std::shared_ptr<const void> owner;

  /// Gives the values as numbers of the output's own type: values<float16>().
  /// Throws DTypeError for other types.
  template <Element T>
  std::span<const T> values() const;
  /// values<float>().
  TRAINGRAPH_API std::span<const float> floats() const;

 private:
  TRAINGRAPH_API std::span<const std::byte> data_as(DataType type,
                                                    const char* call) const;
};

template <Element T>
std::span<const T> OutputView::values() const {
  const std::span<const std::byte> bytes = data_as(kDataTypeOf<T>, "values");
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

/// Device time of a row of Report::rows in one execution (per-layer
/// profiling).
struct LayerTime {
  std::string layer;                             // as LayerRow's
  double forward = 0, gradient = 0, update = 0;  // seconds
};

class TRAINGRAPH_API ExecutionResult {
 public:
  /// The loss of a training execution, else the last result; empty for
  /// gradient and update executions. Of several losses it is the sum, or, when
  /// one of them has no reduction, the last one's elements.
  std::optional<OutputView> result() const;
  /// The loss as a number; of several their sum. Throws StateError when there
  /// is none, or one of them has no reduction.
  float loss() const;
  bool has_loss() const;
  /// The losses are listed under their layers' names ("mse:2" for the layer's
  /// second node), in the order of the nodes.
  std::vector<OutputView> losses() const;
  /// Returns one of losses(). Throws InvalidArgument, listing the names, when
  /// there is no such loss, StateError when it has no reduction.
  float loss(std::string_view name) const;
  /// The declared outputs come in the order of their names.
  std::vector<OutputView> outputs() const;
  /// Throws InvalidArgument, listing the names, when there is no such output.
  OutputView output(std::string_view name) const;
  /// Seconds on the device; 0 without profiling.
  double execution_time() const;
  /// The list is empty without per-layer profiling. Layers that the device runs
  /// as one piece (fused ones; on the GPU a whole phase) share its measured
  /// time by what they are estimated to cost.
  std::vector<LayerTime> layer_times() const;

  explicit ExecutionResult(std::shared_ptr<ExecutionState> state)
      : state_(std::move(state)) {}

 private:
  std::shared_ptr<ExecutionState> state_;
};

class TRAINGRAPH_API Execution {
 public:
  /// Blocks until the work is over; rethrows its error.
  void wait() const;
  /// Returns false when the time ran out first. Rethrows the error when it did
  /// not.
  bool wait_for(std::chrono::duration<double> timeout) const;
  bool done() const;
  /// Drops the work, and what depends on it, if it has not begun: it ends with
  /// CancelledError, and neither parameters nor counters of steps change. What
  /// has begun finishes. True when it was dropped, by this call or before.
  bool cancel() const;
  bool cancelled() const;
  /// Is null while running and after success; never blocks.
  std::exception_ptr exception() const;
  /// Waits, then returns the result.
  ExecutionResult result() const;
  ExecutionResult get() const { return result(); }
  /// Calls `callback` once, on the device's callback thread, or at once here
  /// when the work is over. What it throws is reported on stderr and dropped.
  void add_done_callback(std::function<void(const Execution&)> callback) const;

  /// Makes a place for an execution to come, like one that was moved from. All
  /// calls but valid() throw StateError.
  Execution() = default;
  bool valid() const noexcept { return state_ != nullptr; }

  explicit Execution(std::shared_ptr<ExecutionState> state)
      : state_(std::move(state)) {}

 private:
  const std::shared_ptr<ExecutionState>& state() const;

  std::shared_ptr<ExecutionState> state_;
};

}  // namespace traingraph
