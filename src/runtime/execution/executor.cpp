// SPDX-License-Identifier: MIT
#include "runtime/execution/executor.h"

#include <algorithm>
#include <utility>

#include "runtime/device/device_wait.h"
#include "runtime/execution/bind.h"
#include "runtime/execution/check_outputs.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

/// For when `slot` is over: the completion handler, and callbacks that release
/// the owners of output buffers.
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

/// What a gradient pass or an update writes beside the user's data.
ExecutionState::Hidden hidden_data(const MergedGraph& graph) {
  std::size_t of_pass = graph.accumulators.empty() ? 0 : 1;
  of_pass += graph.gradient_weight == kNoTensor ? 0 : 1;
  for (const TensorIndex weight : graph.user_weights) {
    const bool is_own = weight != kNoTensor && weight != graph.gradient_weight;
    of_pass += is_own ? 1 : 0;
  }
  const std::size_t of_update = graph.updated == kNoTensor ? 1 : 2;
  return {.count = std::max(of_pass, of_update),
          .bytes = 2 * sizeof(float) * graph.accumulators.size()};
}

/// The wait of a synchronous call. Uses nothing of the session: its mutex is
/// free, and other threads may call it.
void wait_for(const std::shared_ptr<ExecutionState>& slot,
              DeviceContext& device, Callbacks callbacks) {
  std::exception_ptr error;
  try {
    device.help(*slot);
    if (!callbacks.empty()) check_interrupt();  // it is not for the callbacks
  } catch (...) {
    error = std::current_exception();
    slot->drop_waiting();
  }
  if (!error && callbacks.empty()) return slot->wait();
  try {
    if (!error) slot->wait();
  } catch (...) {
    error = std::current_exception();
  }
  // At once, unless the wait was interrupted.
  slot->add_callbacks(std::move(callbacks));
  if (error) std::rethrow_exception(error);
  check_interrupt();
}

}  // namespace

Executor::Turn::Turn(const ExecutorParts& parts) : in_flight_(parts.in_flight) {
  in_flight_.reserve();
  lock_ = std::unique_lock(parts.mutex);
}

Executor::Turn::~Turn() {
  if (has_room_) in_flight_.give_back();
}

void Executor::start(Settings settings) {
  forget();
  settings_ = std::move(settings);
  accumulation_.start(parts_.batches->graph());
}

void Executor::forget() {
  last_.reset();
  last_phase_.reset();
  last_gradient_.reset();
  measured_.forget();
  forget_phases();
  pool_.clear();
}

Execution Executor::enqueue(const Call& call, const ExecuteOptions& options,
                            Turn& turn) {
  // What may fail comes first: a call that throws is not counted anywhere.
  const std::int64_t batch = check(call, options);
  const auto slot = prepare(call, options, batch);
  Callbacks callbacks = callbacks_of(options, slot);
  Link* const link = parts_.link.link();
  // Memory of linked graphs may be in use by work of the others.
  HostWriter writer(*slot, parts_.placement,
                    !link && parts_.in_flight.is_idle());
  parts_.inputs.write(writer, call, options.skip_writing_input_data_to_device,
                      batch);
  pool_.prepare(*parts_.placement.context(),
                hidden_data(parts_.batches->graph()));
  {
    // Which linked graph has added to which accumulator is recorded in the
    // order of the queue, hence under one lock.
    std::unique_lock<std::mutex> link_lock;
    if (link) link_lock = std::unique_lock(link->mutex);
    parts_.link.require_order(call);
    slot->depend_on(call.depends_on);
    slot->depend_on(call.pass.adds_to);
    slot->depend_on(parts_.link.dependency(call.segment));
    write_hidden(writer, *slot, call);
    // Nothing fails from here on.
    take_turn_among_ranks(*slot, call.pass, batch);
    if (options.per_layer_profiling) measured_.add(slot, call.depends_on);
    advance(call, batch, slot);
    if (!options.synchronous) {
      slot->add_callbacks(std::exchange(callbacks, {}));
    }
    submit(slot);
    turn.give_room();
  }
  DeviceContext& device = *parts_.placement.context();
  turn.end();
  if (options.synchronous) wait_for(slot, device, std::move(callbacks));
  return Execution(slot);
}

/// Everything but what depends on the plan; returns the batch size.
std::int64_t Executor::check(const Call& call, const ExecuteOptions& options) {
  const bool accumulates = options.accumulate != GradientAccumulation::None;
  if (accumulates && call.segment != Segment::Gradient) {
    throw InvalidArgument(ErrorInfo{
        .op = call.name,
        .node = "accumulate",
        .what = "only gradient passes of separate phases are added up",
        .expected = "execute_forward and execute_gradient for each batch, then "
                    "execute_optimizer_update"});
  }
  const std::int64_t batch = parts_.inputs.batch_of(
      call, options.skip_writing_input_data_to_device, options.batch_size);
  parts_.link.require(call, batch);
  settings_.of_layers.require(call);
  parts_.inputs.check(call, options.skip_writing_input_data_to_device, batch);
  return batch;
}

/// A slot that is ready for data.
std::shared_ptr<ExecutionState> Executor::prepare(const Call& call,
                                                  const ExecuteOptions& options,
                                                  std::int64_t batch) {
  const auto specialization = specialization_for(batch, plan_of(call.segment));
  const auto segment = bound(*specialization, call.segment);
  check_outputs(call.name, options.outputs_data, segment->outputs,
                parts_.batches->graph());

  DeviceContext& context = *parts_.placement.context();
  const auto slot = pool_.acquire();
  slot->segment = call.segment;
  slot->call = call.name;
  slot->work = segment->work.get();
  slot->bound = segment;
  slot->fetch(context, segment->outputs, specialization);
  for (const NamedData& item : options.outputs_data) {
    const auto& outputs = segment->outputs.outputs;
    const auto it =
        std::ranges::find(outputs, item.name, &OutputPlan::Entry::name);
    slot->copy_output_to(it - outputs.begin(), item.data);
  }
  slot->is_awaited = options.synchronous;
  slot->is_profiled = options.profiling || options.per_layer_profiling;
  if (options.per_layer_profiling) {
    slot->unit_times = measured_.take(call.segment, specialization, segment);
  }
  return slot;
}

std::shared_ptr<Specialization> Executor::specialization_for(std::int64_t batch,
                                                             PlanKind kind) {
  Batches& batches = *parts_.batches;
  if (auto known = batches.find(batch, kind)) return known;
  const bool counts = batches.counts_as_compile(batch, kind);
  const auto added = batches.add(batch, kind);
  if (counts) ++num_specialized_;
  grow_arenas(added->compilation);
  return added;
}

/// A smaller batch that needs more than the compiled one: rare, but an engine
/// may choose an algorithm with a larger workspace for it.
void Executor::grow_arenas(const Compilation& compilation) {
  const bool has_accumulators = !parts_.batches->graph().accumulators.empty();
  for (PlanKind kind : parts_.placement.outgrown(compilation)) {
    parts_.in_flight.wait_until_idle();
    parts_.batches->forget_bindings();
    if (kind == PlanKind::Phases) phase_ = PhaseState::Clean;
    if (last_ && plan_of(last_->segment) == kind) last_.reset();
    if (kind == PlanKind::Phases && !has_accumulators) last_gradient_.reset();
  }
  parts_.placement.size_arenas(compilation);
}

std::shared_ptr<const BoundSegment> Executor::bound(
    Specialization& specialization, Segment segment) {
  auto& bound = specialization.segments[static_cast<int>(segment)];
  if (bound) return bound;
  const LinkMember& link = parts_.link;
  bound = bind_segment(
      specialization.compilation, segment, parts_.placement,
      {.poisons_memory = settings_.poisons_memory,
       .linked = {
           .skips_update = [&](TensorIndex t) { return link.skips_update(t); },
           .is_fed = [&](const auto& user) { return link.is_fed(user); }}});
  return bound;
}

/// Counts calls that are cancelled, too: other processes do not know of that.
void Executor::take_turn_among_ranks(ExecutionState& slot,
                                     const GradientPass& pass,
                                     std::int64_t batch) noexcept {
  if (!parts_.exchange || slot.bound->exchange.events.empty()) return;
  const bool is_update = slot.segment == Segment::Update;
  const bool is_averaged =
      pass.by == GradientAccumulation::Mean && pass.adds_to != nullptr;
  slot.exchange = parts_.exchange;
  slot.exchange_call = {.name = slot.call,
                        .segment = slot.segment,
                        .number = parts_.exchange->next_call(),
                        .samples = is_update ? accumulation_.samples() : batch,
                        .waiting = is_averaged ? accumulation_.samples() : 0,
                        .changes = parts_.exchange->num_changes()};
}

void Executor::submit(const std::shared_ptr<ExecutionState>& slot) {
  const auto owner = owner_.shared_from_this();
  const std::uint64_t number = parts_.in_flight.start();
  slot->start(slot, {owner, &parts_.in_flight}, number);
  parts_.placement.context()->submit(*slot);
}

/// What holds for the calls that follow.
void Executor::advance(const Call& call, std::int64_t batch,
                       const std::shared_ptr<ExecutionState>& slot) noexcept {
  const Segment segment = call.segment;
  const bool is_step = segment == Segment::Step;
  parts_.inputs.mark_written(call, parts_.link.link() != nullptr);
  if (slot->drawn.steps) random_steps_.advance();
  if (differentiates(segment)) parts_.link.count_contributions(slot);
  if (updates(segment)) count_update(*slot);
  if (segment != Segment::Update) last_ = slot;
  parts_.link.advance(segment, slot);
  // Inference has a plan of its own: it leaves gradients to the update, but
  // writes over the inputs that a gradient pass reads.
  const bool is_inference = plan_of(segment) == PlanKind::Inference;
  if (!is_inference || phase_ != PhaseState::GradientDone) {
    phase_ = PhaseState::Clean;
    last_phase_.reset();
  }
  if (is_step) last_gradient_.reset();
  if (updates(segment)) accumulation_.forget();
  if (segment != Segment::Forward && segment != Segment::Gradient) return;
  phase_batch_ = batch;
  last_phase_ = slot;
  const bool is_forward = segment == Segment::Forward;
  phase_ = is_forward ? PhaseState::ForwardDone : PhaseState::GradientDone;
  if (!is_forward) {
    last_gradient_ = slot;
    accumulation_.count(call.pass, batch, slot);
    return;
  }
  // Another batch size has another layout: its forward writes over gradients
  // that are in the arena.
  const bool are_in_arena = parts_.batches->graph().accumulators.empty();
  const bool is_other =
      last_gradient_ && last_gradient_->specialization != slot->specialization;
  if (is_other && are_in_arena) last_gradient_.reset();
}

/// An optimizer that linked graphs share advances after the last of them.
void Executor::count_update(ExecutionState& slot) noexcept {
  const OptimizerPtr& optimizer = parts_.objects.optimizer;
  if (!optimizer || !parts_.link.ends_step()) return;
  TimeSteps::advance(*optimizer);
  slot.rates.counts = true;
}

}  // namespace traingraph
