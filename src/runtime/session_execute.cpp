// SPDX-License-Identifier: MIT
// The executing half of Session: check, write, enqueue.
#include <algorithm>
#include <utility>

#include "runtime/device_wait.h"
#include "runtime/session.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

/// What the caller wants called, and memory of others to let go of, when
/// `slot` is over.
Callbacks callbacks_of(const ExecuteOptions& options,
                       const std::shared_ptr<ExecutionState>& slot) {
  Callbacks callbacks;
  for (const NamedData& item : options.outputs_data) {
    const auto& owner = item.data.owner;
    if (owner.use_count() > 0) add_callback(callbacks, [owner] {});
  }
  if (options.completion_handler) {
    add_callback(callbacks, [handler = options.completion_handler, slot] {
      handler(Execution(slot));
    });
  }
  return callbacks;
}

/// Of a synchronous call, which knows no session any more: others may use it.
void wait_for(const std::shared_ptr<ExecutionState>& slot,
              DeviceContext& device, Callbacks callbacks) {
  device.help(*slot);
  if (callbacks.empty()) return slot->wait();
  std::exception_ptr error;
  try {
    check_interrupt();  // help() does not; and it is not for the callbacks
    slot->wait();
  } catch (...) {
    error = std::current_exception();
  }
  // At once, unless the wait was interrupted.
  slot->add_callbacks(std::move(callbacks));
  if (error) std::rethrow_exception(error);
  check_interrupt();
}

}  // namespace

Execution Session::execute(const Data& data, const ExecuteOptions& options) {
  Turn turn(*this);
  require_compiled("execute");
  Call call{"execute", Segment::Step, data, nullptr};
  if (options.forward_for_inference || !declaration_.trains) {
    call.segment =
        inference_segment(data, options.skip_writing_input_data_to_device);
  } else {
    require_seed("execute");
  }
  return enqueue(call, options, turn);
}

Execution Session::execute_forward(const Data& data,
                                   const ExecuteOptions& options) {
  Turn turn(*this);
  require_training("execute_forward");
  require_compiled("execute_forward");
  Call call{"execute_forward", Segment::Forward, data, nullptr};
  if (options.forward_for_inference) {
    call.segment =
        inference_segment(data, options.skip_writing_input_data_to_device);
  }
  return enqueue(call, options, turn);
}

Execution Session::execute_gradient(const ExecuteOptions& options) {
  Turn turn(*this);
  require_training("execute_gradient");
  require_compiled("execute_gradient");
  if (options.forward_for_inference) {
    throw InvalidArgument(
        ErrorInfo{.op = "execute_gradient",
                  .what = "forward_for_inference concerns forward passes"});
  }
  if (phase_ != PhaseState::ForwardDone) {
    throw StateError(ErrorInfo{
        .op = "execute_gradient",
        .what = "there is no forward pass to differentiate",
        .expected = "execute_forward before each execute_gradient",
        .hint = "A forward pass in inference form, execute() and a gradient "
                "pass use the last one up."});
  }
  require_seed("execute_gradient");
  if (options.batch_size != 0 && options.batch_size != phase_batch_) {
    throw InvalidArgument(
        ErrorInfo{.op = "execute_gradient",
                  .what = "the batch size differs from the forward pass's",
                  .expected = std::to_string(phase_batch_),
                  .got = std::to_string(options.batch_size)});
  }
  ExecuteOptions same = options;
  same.batch_size = phase_batch_;
  return enqueue({"execute_gradient", Segment::Gradient, {}, last_phase_}, same,
                 turn);
}

Execution Session::execute_update(const ExecuteOptions& options) {
  Turn turn(*this);
  require_training("execute_optimizer_update");
  require_compiled("execute_optimizer_update");
  if (!declaration_.optimizer) {
    throw StateError(ErrorInfo{.op = "execute_optimizer_update",
                               .what = "the graph has no optimizer",
                               .hint = "Call compile_optimizer() first."});
  }
  if (phase_ != PhaseState::GradientDone) {
    throw StateError(
        ErrorInfo{.op = "execute_optimizer_update",
                  .what = "there are no gradients to apply",
                  .expected = "execute_gradient before each update"});
  }
  ExecuteOptions same = options;
  same.batch_size = phase_batch_;
  return enqueue({"execute_optimizer_update", Segment::Update, {}, last_phase_},
                 same, turn);
}

/// Labels may be left out of a call that has data. One without runs on all that
/// is bound, on labels if they all are.
Segment Session::inference_segment(const Data& data, bool skips_writing) {
  notice_host_data();
  const bool has_labels = !data.labels.empty() || !data.label_weights.empty();
  const bool has_data = !skips_writing && (has_labels || !data.inputs.empty());
  const auto is_there = [](const auto& entry) {
    const Input& input = entry.second;
    return !input.is_label() || input.bound_batch > 0 || input.source ||
           input.is_constant;
  };
  const bool uses_labels =
      has_data ? has_labels : std::ranges::all_of(declared_, is_there);
  return uses_labels ? Segment::Inference : Segment::InferenceWithoutLabels;
}

void Session::require_seed(const char* call) const {
  const Assembled& assembled = main_->compilation.training->assembled;
  const bool has_user_gradient = std::ranges::any_of(
      declaration_.user_gradients,
      [&](const auto& user) { return !user.is_boundary || is_fed(user); });
  if (!assembled.losses.empty() || has_user_gradient) return;
  throw StateError(ErrorInfo{
      .op = call,
      .what = "nothing starts the gradient",
      .expected = "a loss, or a user gradient",
      .hint = "Give the graph a loss, or call allocate_user_gradient() before "
              "compile()."});
}

/// What may fail comes first: a call that throws is not counted anywhere.
Execution Session::enqueue(const Call& call, const ExecuteOptions& options,
                           Turn& turn) {
  const std::int64_t batch = check_call(call, options);
  const auto slot = prepare(call, options, batch);
  Callbacks callbacks = callbacks_of(options, slot);
  write_data(*slot, call, options.skip_writing_input_data_to_device, batch);
  {
    // Linked sessions agree on who contributed what in the queue's order.
    std::unique_lock<std::mutex> link_lock;
    if (link_) link_lock = std::unique_lock(link_->mutex);
    require_link_order(call);
    slot->depend_on(call.depends_on);
    slot->depend_on(link_dependency(call));
    write_hidden(*slot, call.segment);
    // Nothing fails from here on.
    if (options.per_layer_profiling) remember_profiled(call, slot);
    advance(call, batch, slot);
    if (!options.synchronous) {
      slot->add_callbacks(std::exchange(callbacks, {}));
    }
    turn.submit(slot);
  }
  DeviceContext& device = *context_;
  turn.end();
  if (options.synchronous) wait_for(slot, device, std::move(callbacks));
  return Execution(slot);
}

/// A slot that is ready for data.
std::shared_ptr<ExecutionState> Session::prepare(const Call& call,
                                                 const ExecuteOptions& options,
                                                 std::int64_t batch) {
  const auto specialization = batch == batch_ ? main_ : specialize(batch);
  const auto segment = bound(*specialization, call.segment);
  check_outputs(call.name, options, segment->outputs);

  const auto slot = acquire_slot();
  slot->segment = call.segment;
  slot->work = segment->work.get();
  slot->bound = segment;
  slot->fetch(*context_, segment->outputs, specialization);
  for (const NamedData& item : options.outputs_data) {
    const auto& outputs = segment->outputs.outputs;
    const auto it =
        std::ranges::find(outputs, item.name, &OutputPlan::Entry::name);
    slot->copy_output_to(it - outputs.begin(), item.data);
  }
  slot->is_awaited = options.synchronous;
  slot->is_profiled = options.profiling || options.per_layer_profiling;
  if (options.per_layer_profiling) {
    slot->unit_times.assign(segment->units.size(), 0.0);
  }
  if (pool_.size() == 1) prepare_slots();
  return slot;
}

/// The first execution makes room for those to come: results of a forward and
/// of a gradient are kept, one may just end, and one is being enqueued.
void Session::prepare_slots() {
  constexpr std::size_t kNumPrepared = 4;
  while (pool_.size() < kNumPrepared) {
    pool_.push_back(std::make_shared<ExecutionState>());
  }
  for (const auto& slot : pool_) slot->prepare_like(*context_, *pool_.front());
}

/// What holds for the calls that follow.
void Session::advance(const Call& call, std::int64_t batch,
                      const std::shared_ptr<ExecutionState>& slot) noexcept {
  mark_written(call);
  const Segment segment = call.segment;
  const bool is_step = segment == Segment::Step;
  if (is_step || segment == Segment::Forward) ++random_step_;
  if (is_step || segment == Segment::Gradient) count_contributions(slot);
  if (is_step || segment == Segment::Update) count_update(*slot);
  if (segment != Segment::Update) last_ = slot;
  if (link_) advance_link(segment, slot);
  phase_ = PhaseState::Clean;
  last_phase_.reset();
  if (is_step) last_gradient_.reset();
  if (segment != Segment::Forward && segment != Segment::Gradient) return;
  phase_batch_ = batch;
  last_phase_ = slot;
  const bool is_forward = segment == Segment::Forward;
  // Another batch size has another layout: its forward writes over gradients.
  if (is_forward && last_gradient_ &&
      last_gradient_->specialization != slot->specialization) {
    last_gradient_.reset();
  }
  phase_ = is_forward ? PhaseState::ForwardDone : PhaseState::GradientDone;
  if (!is_forward) last_gradient_ = slot;
}

Session::Turn::Turn(Session& session) : session_(session) {
  session_.in_flight_.reserve();
  lock_ = std::unique_lock(session_.mutex_);
}

Session::Turn::~Turn() {
  if (has_room_) session_.in_flight_.give_back();
}

void Session::Turn::submit(const std::shared_ptr<ExecutionState>& slot) {
  slot->start(slot, session_.shared_from_this());
  session_.in_flight_.start();
  session_.context_->submit(*slot);
  has_room_ = false;
}

/// A slot that nobody else holds. Free ones are emptied, and dropped when they
/// are many; when the pool is full of results that are held, those leave it.
std::shared_ptr<ExecutionState> Session::acquire_slot() {
  constexpr int kMaxFree = 8;
  constexpr std::size_t kMaxPooled = kMaxInFlight + kMaxFree;
  std::shared_ptr<ExecutionState> acquired;
  int num_free = 0;
  std::erase_if(pool_, [&](const std::shared_ptr<ExecutionState>& slot) {
    if (slot.use_count() != 1) return false;
    // use_count() orders nothing; giving up a copy pairs with the release of
    // the last other owner (ThreadSanitizer does not see a fence).
    std::shared_ptr<ExecutionState>(slot).reset();
    slot->reset();
    if (num_free++ == 0) {
      acquired = slot;
      return false;
    }
    return num_free > kMaxFree;
  });
  if (acquired) return acquired;
  if (pool_.size() >= kMaxPooled) {
    std::erase_if(pool_, [](const auto& slot) { return slot->is_done(); });
  }
  pool_.push_back(std::make_shared<ExecutionState>());
  return pool_.back();
}

}  // namespace traingraph
