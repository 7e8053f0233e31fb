// SPDX-License-Identifier: MIT
#include "runtime/execution/execution_state.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>
#include <string>

#include "runtime/device/device_wait.h"
#include "runtime/execution/cancel_scope.h"
#include "runtime/execution/in_flight.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

// Hyperparameters and random state fit, whichever of them a state stages.
constexpr std::size_t kMinStaged = 64;
// The last phase, the gradients that are added to, linked graphs.
constexpr std::size_t kMaxDependencies = 3;
// Seconds; the clock counts nanoseconds in 64 bits.
constexpr double kForever = 1e9;

std::exception_ptr cancelled_error(const char* call) {
  return std::make_exception_ptr(CancelledError(
      ErrorInfo{.op = call,
                .what = "the execution was cancelled before it began",
                .hint = "What depends on it ends with this error, too."}));
}

float sum_of(const std::vector<OutputView>& losses) {
  double sum = 0;
  for (const OutputView& loss : losses) sum += number(loss);
  return static_cast<float>(sum);
}

}  // namespace

void ExecutionState::reset() {
  num_staged_ = 0;
  to_upload_.clear();
  to_download_.clear();
  user_copies_.clear();
  callbacks_.clear();
  depends_on_.clear();
  hyperparameters.forget();
  drawn = {};
  has_begun_ = false;
  blocked_ = nullptr;
  stage_.store(Stage::Waiting, std::memory_order_relaxed);
  outputs.clear();
  result.reset();
  losses.clear();
  sum_of_losses_ = nullptr;
  error_ = nullptr;
  seconds = 0;
  is_awaited = false;
  is_profiled = false;
  unit_times.reset();
  unit_seconds = {};
  work = nullptr;
  specialization.reset();
  bound.reset();
  host.forget();
  done_.store(false, std::memory_order_relaxed);
}

std::byte* ExecutionState::stage(DeviceContext& context, Location to,
                                 std::size_t bytes) {
  // One buffer per write: calls repeat, so after the first the sizes fit.
  if (num_staged_ == input_staging_.size()) input_staging_.emplace_back();
  auto& buffer = input_staging_[num_staged_++];
  if (!buffer || buffer->bytes().size() < bytes) {
    buffer =
        context.allocate_staging(std::max(bytes, kMinStaged), "input staging");
  }
  const HostLocation from{buffer.get(), 0};
  to_upload_.push_back({from, to, bytes});
  return from.data();
}

void ExecutionState::fetch(DeviceContext& context, const OutputPlan& plan,
                           std::shared_ptr<const Specialization> spec) {
  specialization = std::move(spec);
  if (plan.bytes == 0) return;
  if (!output_staging_ || output_staging_->bytes().size() < plan.bytes) {
    output_staging_ = context.allocate_staging(plan.bytes, "output staging");
  }
  const auto view = [&](const OutputPlan::Entry& entry) {
    const HostLocation to{output_staging_.get(), entry.offset};
    const std::size_t bytes = entry.desc.size_bytes();
    to_download_.push_back({entry.from, to, bytes});
    return OutputView{entry.name, entry.desc, {to.data(), bytes}, nullptr};
  };
  for (const auto& entry : plan.outputs) outputs.push_back(view(entry));
  for (const auto& entry : plan.losses) losses.push_back(view(entry));
  if (plan.result) result = view(*plan.result);
  if (losses.empty()) return;
  result = losses.back();
  result->name = "result";
  const bool has_sum =
      losses.size() > 1 && std::ranges::all_of(losses, is_number);
  if (!has_sum) return;
  const HostLocation sum{output_staging_.get(), plan.sum_offset};
  sum_of_losses_ = reinterpret_cast<float*>(sum.data());
  result->descriptor = {{1}, DataType::Float32};
  result->data = {sum.data(), sizeof(float)};
}

void ExecutionState::copy_output_to(std::size_t output,
                                    const TensorData& data) {
  const auto from = outputs[output].data;
  user_copies_.push_back({data.bytes, from.data(), from.size()});
}

void ExecutionState::add_callbacks(Callbacks callbacks) noexcept {
  {
    std::scoped_lock lock(mutex_);
    if (!is_done()) {
      callbacks_.splice(callbacks_.end(), callbacks);
      return;
    }
  }
  call_callbacks(std::move(callbacks));
}

void ExecutionState::depend_on(std::shared_ptr<ExecutionState> other) {
  if (!other || std::ranges::find(depends_on_, other) != depends_on_.end()) {
    return;
  }
  depends_on_.push_back(std::move(other));
}

void ExecutionState::prepare_like(DeviceContext& context,
                                  const ExecutionState& other, Hidden hidden) {
  const std::size_t count = std::max(hidden.count, other.num_staged_);
  while (input_staging_.size() < count) {
    std::size_t bytes = std::max(hidden.bytes, kMinStaged);
    const std::size_t place = input_staging_.size();
    if (place < other.num_staged_) {
      bytes = std::max(bytes, other.input_staging_[place]->bytes().size());
    }
    input_staging_.push_back(context.allocate_staging(bytes, "input staging"));
  }
  if (other.output_staging_ && !output_staging_) {
    const std::size_t bytes = other.output_staging_->bytes().size();
    output_staging_ = context.allocate_staging(bytes, "output staging");
  }
  to_upload_.reserve(count);
  to_download_.reserve(other.to_download_.size());
  outputs.reserve(other.outputs.size());
  losses.reserve(other.losses.size());
  depends_on_.reserve(kMaxDependencies);
}

void ExecutionState::start(std::shared_ptr<ExecutionState> self,
                           std::shared_ptr<InFlight> in_flight,
                           std::uint64_t number, bool fails_as_one) noexcept {
  number_ = number;
  fails_as_one_ = fails_as_one && bound->host.events.empty();
  cancel_number_ = next_in_cancel_scope();
  uploads = to_upload_;
  downloads = to_download_;
  if (unit_times) unit_seconds = unit_times->seconds;
  self_ = std::move(self);
  in_flight_ = std::move(in_flight);
}

bool ExecutionState::cancel() noexcept {
  Stage stage = Stage::Waiting;
  return stage_.compare_exchange_strong(stage, Stage::Dropped) ||
         stage == Stage::Dropped;
}

void ExecutionState::drop_waiting() const noexcept {
  const std::scoped_lock lock(mutex_);
  if (in_flight_) in_flight_->drop_waiting();
}

bool ExecutionState::is_to_be_dropped() const noexcept {
  return in_flight_->is_dropped(number_) ||
         is_cancelled_by_scope(cancel_number_);
}

void ExecutionState::begin() noexcept {
  Stage next = is_to_be_dropped() ? Stage::Dropped : Stage::Begun;
  for (const auto& other : depends_on_) {
    blocked_ = other->failure();
    if (!blocked_) continue;
    next = other->is_dropped() ? Stage::Dropped : Stage::Skipped;
    break;
  }
  has_begun_ = true;
  Stage stage = Stage::Waiting;
  if (!stage_.compare_exchange_strong(stage, next)) next = stage;
  if (next == Stage::Begun) return take_numbers();
  if (!blocked_) blocked_ = cancelled_error(call);
  // Now: on a GPU what follows begins before this is over.
  give_numbers_back();
}

void ExecutionState::give_numbers_back() noexcept {
  if (hyperparameters.counts)
    TimeSteps::drop(*hyperparameters.optimizer, hyperparameters.number);
  if (drawn.steps) drawn.steps->drop(drawn.number);
  hyperparameters.counts = false;
  drawn.steps = nullptr;
}

/// Steps before this one may have been dropped.
void ExecutionState::take_numbers() noexcept {
  if (drawn.at) {
    const std::uint64_t now = drawn.number.now();
    if (now != drawn.number.value) std::memcpy(drawn.at, &now, sizeof(now));
  }
  if (!hyperparameters.at) return;
  const Optimizer& optimizer = *hyperparameters.optimizer;
  const std::uint64_t now = hyperparameters.number.now();
  if (now == hyperparameters.number.value) return;
  formulas::Hyperparameters& values = hyperparameters.values;
  values.learning_rate = hyperparameters.rule.at(now);
  values.corrected_rate = optimizer.corrected(values.learning_rate, now);
  values.time_step = static_cast<float>(now);
  std::memcpy(hyperparameters.at, &values, sizeof(values));
}

std::exception_ptr ExecutionState::blocked() noexcept { return blocked_; }

bool ExecutionState::is_waiting() noexcept {
  return !std::ranges::all_of(
      depends_on_, [](const auto& other) { return other->is_settled(); });
}

bool ExecutionState::is_settled() const {
  return is_done() || (has_begun_ && fails_as_one_);
}

std::exception_ptr ExecutionState::failure() const {
  return is_done() ? error_ : blocked_;
}

/// Of what this one depends on, and what began before that was over.
std::exception_ptr ExecutionState::failure_before() const noexcept {
  for (const auto& other : depends_on_) {
    if (auto error = other->error()) return error;
  }
  return nullptr;
}

void ExecutionState::reached(std::size_t mark) {
  host.reached(mark, hyperparameters.values.learning_rate,
               unit_times ? &unit_times->host : nullptr, [this] {
                 check_interrupt();  // of the thread that helps
                 return is_to_be_dropped();
               });
}

void ExecutionState::finished(std::exception_ptr error,
                              double elapsed) noexcept {
  if (!error) error = failure_before();
  if (!error) error = host.missed_marks(call);
  if (!error) {
    for (const UserCopy& copy : user_copies_) {
      std::memcpy(copy.to, copy.from, copy.bytes);
    }
    if (sum_of_losses_) *sum_of_losses_ = sum_of(losses);
  }
  // Locals are destroyed last, after the state is no longer touched.
  const std::shared_ptr<ExecutionState> self = std::move(self_);
  std::shared_ptr<InFlight> in_flight;
  Stage stage = Stage::Waiting;  // a device that was closed begins nothing
  stage_.compare_exchange_strong(stage, Stage::Skipped);
  if (stage == Stage::Begun) drawn.steps = nullptr;
  if (error) give_numbers_back();
  // Other processes make this call all the same, unless they cancel it, too.
  const bool is_missed = stage == Stage::Begun || stage == Stage::Skipped;
  if (error && is_missed) host.fail(error);
  depends_on_.clear();
  if (is_profiled) seconds = elapsed;
  if (unit_times) unit_times->succeeded = !error;
  // Before a waiter wakes: its next call may then write to the device at once.
  in_flight_->work_finished();
  Callbacks callbacks;
  {
    std::scoped_lock lock(mutex_);
    error_ = std::move(error);
    in_flight = std::move(in_flight_);
    callbacks.swap(callbacks_);
    done_.store(true, std::memory_order_release);
    finished_.notify_all();
  }
  in_flight->finished();
  post_callbacks(std::move(callbacks));
}

void ExecutionState::wait() const {
  if (!is_done()) {
    std::unique_lock lock(mutex_);
    try {
      wait_for_device(finished_, lock, [this] { return is_done(); });
    } catch (...) {
      if (in_flight_) in_flight_->drop_waiting();
      throw;
    }
  }
  if (error_) std::rethrow_exception(error_);
}

bool ExecutionState::wait_for(double timeout) const {
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  const Clock::time_point start = Clock::now();
  const Seconds all(std::clamp(timeout, 0.0, kForever));
  while (!is_done()) {
    const Seconds left = all - Seconds(Clock::now() - start);
    const Seconds slice =
        std::clamp(left, Seconds(0), Seconds(kInterruptInterval));
    {
      std::unique_lock lock(mutex_);
      if (finished_.wait_for(lock, slice, [this] { return is_done(); })) break;
    }
    try {
      check_interrupt();
    } catch (...) {
      drop_waiting();
      throw;
    }
    if (left <= slice) return false;
  }
  if (error_) std::rethrow_exception(error_);
  return true;
}

std::exception_ptr ExecutionState::error() const {
  return is_done() ? error_ : nullptr;
}

std::size_t ExecutionState::staging_bytes() const {
  std::size_t bytes = output_staging_ ? output_staging_->bytes().size() : 0;
  for (const auto& buffer : input_staging_) {
    if (buffer)
      bytes += buffer->bytes().size();  // null: could not be allocated
  }
  return bytes;
}

bool is_number(const OutputView& loss) {
  return loss.descriptor.shape.num_elements() == 1;
}

float number(const OutputView& loss) {
  float value = 0;
  std::memcpy(&value, loss.data.data(), sizeof(value));
  return value;
}

}  // namespace traingraph
