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

/// For when `state` is over: the completion handler, and callbacks that release
/// the owners of output buffers.
Callbacks callbacks_of(const ExecuteOptions& options,
                       const std::shared_ptr<ExecutionState>& state) {
  Callbacks callbacks;
  for (const NamedData& item : options.outputs_data) {
    const auto& owner = item.data.owner;
    if (owner.use_count() > 0) add_callback(callbacks, [owner] {});
  }
  if (options.completion_handler) {
    add_callback(callbacks, [handler = options.completion_handler, state] {
      handler(Execution(state));
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
void wait_for(const std::shared_ptr<ExecutionState>& state,
              DeviceContext& device, Callbacks callbacks) {
  std::exception_ptr error;
  try {
    device.help(*state);
    if (!callbacks.empty()) check_interrupt();  // it is not for the callbacks
  } catch (...) {
    error = std::current_exception();
    state->drop_waiting();
  }
  if (!error && callbacks.empty()) return state->wait();
  try {
    if (!error) state->wait();
  } catch (...) {
    error = std::current_exception();
  }
  // At once, unless the wait was interrupted.
  state->add_callbacks(std::move(callbacks));
  if (error) std::rethrow_exception(error);
  check_interrupt();
}

}  // namespace

Executor::InFlightPermit::InFlightPermit(const ExecutorParts& parts)
    : in_flight_(parts.in_flight) {
  in_flight_.reserve();
  lock_ = std::unique_lock(parts.mutex);
}

Executor::InFlightPermit::~InFlightPermit() {
  if (is_held_) in_flight_.give_back();
}

Executor::Executor(std::enable_shared_from_this<Session>& owner,
                   ExecutorParts parts)
    : owner_(owner),
      parts_(parts),
      optimizer_step_(parts.link),
      exchange_turn_(parts.exchange, accumulation_),
      participants_{&parts_.link,   &settings_,       &parts_.inputs,
                    &random_state_, &optimizer_step_, &exchange_turn_,
                    &accumulation_, &measured_,       &phases_} {}

void Executor::configure(const Declaration& declaration, bool poison_memory,
                         std::uint64_t seed) {
  settings_.start(declaration);
  poison_memory_ = poison_memory;
  random_state_.set_seed(seed);
}

void Executor::start() {
  forget();
  const auto graph = parts_.plan_cache->main()->compilation.graph;
  random_state_.start(graph->random_state);
  optimizer_step_.start(graph->hyperparameters, parts_.objects.optimizer.get());
  exchange_turn_.start(graph);
  accumulation_.start(*graph);
  phases_.start(/*keeps_gradients=*/!graph->accumulators.empty());
}

void Executor::forget() {
  phases_.forget();
  measured_.forget();
  accumulation_.forget();
  pool_.clear();
}

Execution Executor::enqueue(Call call, const ExecuteOptions& options,
                            InFlightPermit& permit) {
  check(call, options);
  const auto state = prepare(call, options);
  Callbacks callbacks = callbacks_of(options, state);
  // Memory of linked graphs may be in use by work of the others.
  HostWriter writer(*state, parts_.placement,
                    !parts_.link.is_linked() && parts_.in_flight.is_idle());
  {
    // Which linked graph has added to which accumulator is recorded in the
    // order of the queue, hence under one lock.
    const std::unique_lock<std::mutex> lock = parts_.link.lock();
    state->depend_on(call.depends_on);
    state->depend_on(call.pass.adds_to);
    for (Participant* each : participants_) each->stage(call, writer, *state);
    pool_.prepare(*parts_.placement.context(),
                  hidden_data(parts_.plan_cache->graph()));
    for (Participant* each : participants_) each->commit(call, state);
    if (!options.synchronous) {
      state->add_callbacks(std::exchange(callbacks, {}));
    }
    submit(state);
    permit.pass_on();
  }
  DeviceContext& device = *parts_.placement.context();
  permit.end();
  if (options.synchronous) wait_for(state, device, std::move(callbacks));
  return Execution(state);
}

/// Everything but what depends on the plan.
void Executor::check(Call& call, const ExecuteOptions& options) {
  const bool accumulates = options.accumulate != GradientAccumulation::None;
  if (accumulates && call.entry_point != EntryPoint::Gradient) {
    throw InvalidArgument(ErrorInfo{
        .op = call.name,
        .node = "accumulate",
        .what = "only gradient passes of separate phases are added up",
        .expected = "execute_forward and execute_gradient for each batch, then "
                    "execute_optimizer_update"});
  }
  call.skips_writing = options.skip_writing_input_data_to_device;
  call.batch =
      parts_.inputs.batch_of(call, call.skips_writing, options.batch_size);
  for (Participant* each : participants_) each->check(call);
}

/// A state that is ready for data.
std::shared_ptr<ExecutionState> Executor::prepare(
    const Call& call, const ExecuteOptions& options) {
  const auto specialization =
      specialization_for(call.batch, plan_of(call.entry_point));
  const auto entry_point = bound(*specialization, call.entry_point);
  check_outputs(call.name, options.outputs_data, entry_point->outputs,
                parts_.plan_cache->graph());

  DeviceContext& context = *parts_.placement.context();
  const auto state = pool_.acquire();
  state->entry_point = call.entry_point;
  state->call = call.name;
  state->work = entry_point->work.get();
  state->bound = entry_point;
  state->fetch(context, entry_point->outputs, specialization);
  for (const NamedData& item : options.outputs_data) {
    const auto& outputs = entry_point->outputs.outputs;
    const auto it =
        std::ranges::find(outputs, item.name, &OutputPlan::Entry::name);
    state->copy_output_to(it - outputs.begin(), item.data);
  }
  state->is_awaited = options.synchronous;
  state->is_profiled = options.profiling || options.per_layer_profiling;
  if (options.per_layer_profiling) {
    state->unit_times =
        measured_.take(call.entry_point, specialization, entry_point);
  }
  return state;
}

std::shared_ptr<Specialization> Executor::specialization_for(std::int64_t batch,
                                                             PlanKind kind) {
  PlanCache& plan_cache = *parts_.plan_cache;
  if (auto known = plan_cache.find(batch, kind)) return known;
  const bool counts = plan_cache.counts_as_compile(batch, kind);
  const auto added = plan_cache.add(batch, kind);
  if (counts) ++num_specialized_;
  grow_arenas(added->compilation);
  return added;
}

/// A smaller batch that needs more than the compiled one: rare, but an engine
/// may choose an algorithm with a larger workspace for it.
void Executor::grow_arenas(const Compilation& compilation) {
  for (PlanKind kind : parts_.placement.outgrown(compilation)) {
    parts_.in_flight.wait_until_idle();
    parts_.plan_cache->forget_bindings();
    phases_.forget_results(kind);
  }
  parts_.placement.size_arenas(compilation);
}

std::shared_ptr<const BoundEntryPoint> Executor::bound(
    Specialization& specialization, EntryPoint entry_point) {
  auto& bound = specialization.entry_points[static_cast<int>(entry_point)];
  if (bound) return bound;
  bound = bind_entry_point(specialization.compilation, entry_point,
                           parts_.placement,
                           {.poison_memory = poison_memory_,
                            .runs_host_units = parts_.exchange != nullptr,
                            .linked = parts_.link});
  return bound;
}

void Executor::submit(const std::shared_ptr<ExecutionState>& state) {
  const auto owner = owner_.shared_from_this();
  const std::uint64_t number = parts_.in_flight.start();
  DeviceContext& context = *parts_.placement.context();
  state->start(state, {owner, &parts_.in_flight}, number,
               context.fails_as_one());
  context.submit(*state);
}

}  // namespace traingraph
