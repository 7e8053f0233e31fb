// SPDX-License-Identifier: MIT
// The executing half of Session: check, write, enqueue.
#include <algorithm>

#include "runtime/callback_thread.h"
#include "runtime/session.h"
#include "traingraph/error.h"

namespace traingraph {

Execution Session::execute(const Data& data, const ExecuteOptions& options) {
  std::unique_lock lock(mutex_);
  require_compiled("execute");
  Call call{"execute", Segment::Step, data, nullptr};
  if (options.forward_for_inference || !declaration_.trains) {
    call.segment =
        inference_segment(data, options.skip_writing_input_data_to_device);
  } else {
    require_seed("execute");
  }
  return enqueue(call, options, std::move(lock));
}

Execution Session::execute_forward(const Data& data,
                                   const ExecuteOptions& options) {
  std::unique_lock lock(mutex_);
  require_training("execute_forward");
  require_compiled("execute_forward");
  Call call{"execute_forward", Segment::Forward, data, nullptr};
  if (options.forward_for_inference) {
    call.segment =
        inference_segment(data, data.labels.empty() && data.inputs.empty());
  }
  return enqueue(call, options, std::move(lock));
}

Execution Session::execute_gradient(const ExecuteOptions& options) {
  std::unique_lock lock(mutex_);
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
        .hint = "A forward pass in inference form, execute(), a gradient pass "
                "and bind_and_write_data() of inputs use the last one up."});
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
                 std::move(lock));
}

Execution Session::execute_update(const ExecuteOptions& options) {
  std::unique_lock lock(mutex_);
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
                 same, std::move(lock));
}

void Session::bind_and_write(DataList data, const TensorMap& inputs,
                             std::int64_t batch_size, bool synchronous) {
  std::unique_lock lock(mutex_);
  const char* call = "bind_and_write_data";
  require_compiled(call);
  const std::int64_t batch = check_batch(call, batch_size);
  const TensorMap& declared = inputs.empty() ? bindable_ : inputs;
  check_list(call, data, declared, batch);
  bool overwrites_inputs = false;
  for (const NamedData& item : data) {
    const Tensor& tensor =
        std::ranges::find(
            declared, item.name,
            [](const auto& entry) -> std::string_view { return entry.first; })
            ->second;
    const bool is_declared = std::ranges::any_of(
        declared_,
        [&](const auto& entry) { return entry.second.tensor == tensor; });
    const bool is_user_gradient = std::ranges::any_of(
        declaration_.user_gradients,
        [&](const auto& user) { return user.gradient == tensor; });
    overwrites_inputs = overwrites_inputs || is_declared;
    if (is_declared || is_user_gradient) continue;
    throw InvalidArgument(
        ErrorInfo{.op = call,
                  .node = std::string(item.name),
                  .what = "the graph reads no such tensor",
                  .expected = "an input, a label or a user gradient",
                  .got = "\"" + tensor.label() + "\""});
  }
  auto slot = acquire_slot();
  write_list(*slot, data, declared, batch);
  slot->segment = Segment::Nothing;
  slot->seal();
  slot->start(slot, shared_from_this(), nullptr);
  in_flight_.fetch_add(1);
  unfinished_.fetch_add(1);
  context_->submit(*slot);
  // The gradient pass would read the new inputs, not those of the forward.
  if (overwrites_inputs) phase_ = PhaseState::Clean;
  lock.unlock();
  if (synchronous) slot->wait();
}

Segment Session::inference_segment(const Data& data, bool skips_writing) const {
  const bool is_given = !data.labels.empty() || !data.label_weights.empty();
  const bool is_bound =
      skips_writing && std::ranges::all_of(declared_, [](const auto& entry) {
        return !entry.second.is_label || entry.second.written_batch > 0;
      });
  return is_given || is_bound ? Segment::Inference
                              : Segment::InferenceWithoutLabels;
}

void Session::require_seed(const char* call) const {
  const Assembled& assembled = main_->compilation.training->assembled;
  const bool has_user_gradient = std::ranges::any_of(
      declaration_.user_gradients,
      [&](const auto& user) { return link_ || !user.is_boundary; });
  if (!assembled.losses.empty() || has_user_gradient) return;
  throw StateError(ErrorInfo{
      .op = call,
      .what = "nothing starts the gradient",
      .expected = "a loss, or a user gradient",
      .hint = "Give the graph a loss, or call allocate_user_gradient() before "
              "compile()."});
}

Execution Session::enqueue(const Call& call, const ExecuteOptions& options,
                           std::unique_lock<std::mutex> lock) {
  const bool skips = options.skip_writing_input_data_to_device;
  const std::int64_t batch = check_batch(call.name, options.batch_size);
  require_link(call, batch);
  check_list(call.name, call.data.inputs, declaration_.inputs, batch);
  check_list(call.name, call.data.labels, declaration_.labels, batch);
  check_list(call.name, call.data.label_weights, declaration_.label_weights,
             batch);
  require_inputs(call, skips, batch);
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
  if (!skips) {
    write_list(*slot, call.data.inputs, declaration_.inputs, batch);
    write_list(*slot, call.data.labels, declaration_.labels, batch);
    write_list(*slot, call.data.label_weights, declaration_.label_weights,
               batch);
  }
  write_hidden(*slot, call.segment);
  slot->is_profiled = options.profiling || options.per_layer_profiling;
  if (options.per_layer_profiling) {
    slot->unit_times.assign(segment->units.size(), 0.0);
  }
  if (options.completion_handler && !options.synchronous) {
    slot->add_callback([handler = options.completion_handler, slot] {
      handler(Execution(slot));
    });
  }
  slot->seal();
  slot->start(slot, shared_from_this(), link_dependency(call));
  in_flight_.fetch_add(1);
  unfinished_.fetch_add(1);
  context_->submit(*slot);
  advance(call, batch, slot);
  lock.unlock();
  return finish(slot, options);
}

void Session::advance(const Call& call, std::int64_t batch,
                      const std::shared_ptr<ExecutionState>& slot) {
  last_specialization_ =
      std::const_pointer_cast<Specialization>(slot->specialization);
  last_plan_ = plan_of(call.segment);
  phase_ = PhaseState::Clean;
  last_phase_.reset();
  if (link_ && link_->shares_results) {
    std::scoped_lock lock(link_->mutex);
    link_->last = slot;
  }
  if (call.segment == Segment::Step) last_gradient_.reset();
  if (call.segment != Segment::Forward && call.segment != Segment::Gradient) {
    return;
  }
  phase_batch_ = batch;
  last_phase_ = slot;
  const bool is_forward = call.segment == Segment::Forward;
  // Another batch size has another layout: its forward writes over gradients.
  if (is_forward && last_gradient_ &&
      last_gradient_->specialization != slot->specialization) {
    last_gradient_.reset();
  }
  phase_ = is_forward ? PhaseState::ForwardDone : PhaseState::GradientDone;
  if (!is_forward) last_gradient_ = slot;
}

Execution Session::finish(const std::shared_ptr<ExecutionState>& slot,
                          const ExecuteOptions& options) {
  Execution execution(slot);
  if (!options.synchronous) return execution;
  std::exception_ptr error;
  try {
    slot->wait();
  } catch (...) {
    error = std::current_exception();
  }
  if (options.completion_handler) {
    call_guarded([&] { options.completion_handler(execution); });
  }
  if (error) std::rethrow_exception(error);
  return execution;
}

std::shared_ptr<ExecutionState> Session::acquire_slot() {
  for (const auto& slot : pool_) {
    if (slot.use_count() != 1) continue;
    // use_count() orders nothing; giving up a copy pairs with the release of
    // the last other owner (ThreadSanitizer does not see a fence).
    std::shared_ptr<ExecutionState>(slot).reset();
    slot->reset();
    return slot;
  }
  pool_.push_back(std::make_shared<ExecutionState>());
  return pool_.back();
}

void Session::execution_finished() noexcept {
  if (unfinished_.fetch_sub(1) != 1) return;
  std::scoped_lock lock(idle_mutex_);
  idle_.notify_all();
}

void Session::wait_until_idle() const {
  std::unique_lock lock(idle_mutex_);
  idle_.wait(lock, [this] { return unfinished_.load() == 0; });
}

}  // namespace traingraph
