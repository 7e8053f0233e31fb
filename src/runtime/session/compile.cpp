// SPDX-License-Identifier: MIT
// Compilation: from a declaration to a graph that runs.
#include <algorithm>

#include "compiler/distribution/collectives.h"
#include "graph/platform.h"
#include "layers/names.h"
#include "runtime/device/backend.h"
#include "runtime/exchange/agreement.h"
#include "runtime/exchange/data_parallel.h"
#include "runtime/memory/transfer.h"
#include "runtime/session/option_conflicts.h"
#include "runtime/session/session.h"
#include "runtime/session/training_state.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

/// Freezes graph objects; each compile that holds one, or has succeeded,
/// counts.
class Freeze {
 public:
  explicit Freeze(const std::vector<std::shared_ptr<GraphState>>& graphs)
      : graphs_(graphs) {
    count(+1);
  }
  ~Freeze() { count(-1); }
  void keep() { graphs_.clear(); }

 private:
  void count(int change) {
    for (const auto& graph : graphs_) {
      std::scoped_lock lock(graph->mutex);
      graph->num_compiles += change;
    }
  }

  std::vector<std::shared_ptr<GraphState>> graphs_;
};

void require_not_negative(const char* option, double value) {
  if (value >= 0) return;  // false for NaN
  throw InvalidArgument(ErrorInfo{.op = "compile",
                                  .node = option,
                                  .what = "the option must not be negative",
                                  .expected = "a number >= 0",
                                  .got = std::to_string(value)});
}

double tolerance_of(const CompileOptions& options) {
  if (options.verify_tolerance) return *options.verify_tolerance;
  switch (options.precision) {
    case Precision::Fast:
    case Precision::MixedBFloat16:
      return 8 * 0x1p-8;
    case Precision::MixedFloat16:
      return 8 * 0x1p-11;
    default:
      return 1e-3;
  }
}

void require_compilable(const Declaration& declaration,
                        const CompileOptions& options) {
  if (!declaration.has_nodes()) {
    throw StateError(ErrorInfo{.op = "compile",
                               .what = "the graph has no nodes",
                               .hint = "Add layers with node() of a graph."});
  }
  if (to_string(options.precision) == "?") {
    throw InvalidArgument(
        ErrorInfo{.op = "compile",
                  .node = "precision",
                  .what = "there is no such precision",
                  .expected = "a case of Precision",
                  .got = std::to_string(static_cast<int>(options.precision))});
  }
  require_no_conflict(declaration, options);
  require_not_negative("max_gpu_ms", options.max_gpu_ms);
  require_not_negative("verify_tolerance", tolerance_of(options));
}

void require_constant_is_read(const Declaration& declaration,
                              const std::string& name, const Tensor& tensor) {
  const auto is_this = [&](const auto& entry) {
    return entry.second == tensor;
  };
  const bool is_label = std::ranges::any_of(declaration.labels, is_this) ||
                        std::ranges::any_of(declaration.label_weights, is_this);
  if (tensor && (is_label || declaration.uses(tensor))) return;
  throw InvalidArgument(
      ErrorInfo{.op = "compile",
                .node = name,
                .what = "no node reads this constant",
                .expected = "a source of a node of this graph",
                .hint = "Is it a tensor of another graph?"});
}

void declare_constants(Declaration& declaration, const TensorMap& tensors,
                       DataList data) {
  for (const auto& [name, tensor] : tensors) {
    require_constant_is_read(declaration, name, tensor);
  }
  for (const NamedData& item : data) {
    const auto it = tensors.find(std::string(item.name));
    if (it == tensors.end()) {
      throw InvalidArgument(ErrorInfo{
          .op = "compile",
          .node = std::string(item.name),
          .what = "data for a constant that input_tensors does not list"});
    }
    it->second.set_data(item.data);
  }
  for (const auto& [name, tensor] : tensors) {
    if (has_host_data(*tensor.state())) continue;
    throw InvalidArgument(ErrorInfo{
        .op = "compile", .node = name, .what = "the constant has no data"});
  }
  declaration.constants = tensors;
}

void require_inputs_are_used(const Compilation& compilation) {
  const MergedGraph& graph = *compilation.graph;
  const auto is_used = [&](TensorIndex tensor) {
    return std::ranges::any_of(
        compilation.programs(), [&](const CompiledProgram* program) {
          return program->assembled.find(tensor) != kNoValue;
        });
  };
  for (const auto* names :
       {&graph.inputs, &graph.labels, &graph.label_weights}) {
    for (const auto& [name, tensor] : *names) {
      if (is_used(tensor)) continue;
      throw InvalidArgument(
          ErrorInfo{.op = "compile",
                    .node = name,
                    .what = "no node reads this declared tensor",
                    .expected = "a source of a node of this graph",
                    .got = "\"" + graph.tensors[tensor].name + "\"",
                    .hint = "Is it a tensor of another graph?"});
    }
  }
}

/// Linked graphs agree on who updates what they share, and who gives gradients
/// may take some elsewhere.
void require_something_trains(const Compilation& compilation) {
  const MergedGraph& graph = *compilation.graph;
  if (!graph.update || !graph.trains || graph.is_linkable) return;
  if (!graph.user_gradients.empty()) return;
  if (!compilation.program(PlanKind::Phases).assembled.trained.empty()) return;
  const bool has_trainable = !graph.trainable.empty();
  const bool has_parameters = std::ranges::any_of(
      graph.layers,
      [](const LayerInfo& layer) { return !layer.parameters.empty(); });
  throw InvalidArgument(ErrorInfo{
      .op = "compile",
      .node = "optimizer",
      .what = "there is nothing that the optimizer could train",
      .expected = "a parameter that is updated and that the loss depends on",
      .got = has_trainable    ? "parameters that no gradient reaches"
             : has_parameters ? "parameters whose updates are all disabled"
                              : "layers without parameters",
      .hint = has_trainable ? "Which gradients are stopped?"
              : has_parameters
                  ? "See disable_update, TensorParameter.is_updatable."
                  : "Leave out the optimizer, or "
                    "set_training_tensor_parameters()."});
}

std::shared_ptr<DeviceContext> context_of(const Device& device,
                                          const CompileOptions& options) {
  if (!options.verify) return device.context();
  return find_verifying_context(device.context(), options.verify->context(),
                                tolerance_of(options));
}

CompilerOptions compiler_options(const CompileOptions& options) {
  return {.fuses = !options.disable_layer_fusion && !options.debug_layers,
          // What is compared after a run must not be overwritten before.
          .reuse_memory = options.reuse_memory && !options.verify,
          .max_gpu_ms = options.max_gpu_ms,
          .batch_plans_bytes = options.batch_plans_bytes,
          .collectives = collective_options(options.data_parallel)};
}

/// A compile that fails leaves the graph uncompiled.
void forget_compilation(Session& session) {
  session.link.leave();
  session.executor.forget();
  session.gradient_tensors.clear();
  session.plan_cache.reset();
  session.exchange.reset();
}

/// Waits for all processes, and takes what rank 0 begins with.
void start_exchange(Session& session) {
  if (!session.exchange || session.exchange->size() == 1) return;
  const TrainingState own = training_state_of(session);
  const std::string text = agree(
      *session.exchange,
      {*session.plan_cache, session.objects, session.placement,
       session.declaration.constants, variables_of(session), settings_of(own)},
      print_training_state(own));
  TrainingState first;
  const std::string problem = parse_training_state(text, first);
  if (!problem.empty()) throw InternalError(problem);
  apply_training_state(session, first);
}

void begin_exchange(Session& session, std::shared_ptr<Exchange> exchange) {
  session.exchange = std::move(exchange);
  const int rank = session.exchange ? session.exchange->rank() : 0;
  session.executor.random_state().set_stream(static_cast<std::uint64_t>(rank));
  if (session.exchange) session.exchange->leave();
  try {
    start_exchange(session);
  } catch (...) {
    forget_compilation(session);
    throw;
  }
}

void finish_compile(Session& session, Merged merged, CompilerOptions options) {
  session.objects = std::move(merged.objects);
  session.names.forget();
  if (options.collectives.are_there() && merged.graph.trains) {
    options.collectives.order =
        find_exchange_order(merged.graph, session.placement.context()->target(),
                            merged.graph.batch);
  }
  auto plan_cache = std::make_unique<PlanCache>(
      std::make_shared<const MergedGraph>(std::move(merged.graph)),
      session.placement.context(), std::move(options));
  const Compilation& main = plan_cache->main()->compilation;
  require_inputs_are_used(main);
  if (!session.is_loaded) require_something_trains(main);
  session.placement.place(main, session.objects);
  session.placement.size_arenas(main);
  session.inputs.collect(main, session.objects);
  session.plan_cache = std::move(plan_cache);
  session.link.start(main, session.objects);
  session.executor.start();
  create_readable_tensors(session);
  ++session.num_compiles;
}

}  // namespace

void Session::require_compiled(const char* call) const {
  traingraph::require_compiled(plan_cache.get(), call);
}

void Session::require_not_compiled(const char* call) const {
  if (!plan_cache) return;
  throw StateError(ErrorInfo{.op = call,
                             .what = "the graph is compiled already",
                             .hint = "Declare everything before compile()."});
}

void Session::require_device(const char* call) const {
  require_compiled(call);
  placement.context()->require_not_lost(call);
}

void Session::place_layers() const {
  for (const LayerPtr& layer : objects.layers) {
    layer->device_type_ = device->actual_device_type();
  }
}

namespace {

/// Any device is the CPU, too, where the GPU lacks what the graph needs.
template <class CompileFor>
void compile_on(const Device& device, const CompileFor& compile_for) {
  const bool may_be_cpu = device.type() == DeviceType::Any &&
                          device.actual_device_type() == DeviceType::GPU;
  if (!may_be_cpu) return compile_for(device);
  try {
    compile_for(device);
  } catch (const UnsupportedError&) {
    compile_for(Device::cpu());
  }
}

void compile_for(Session& session, const Device& device,
                 const CompileOptions& options, const TensorMap& constants,
                 DataList constants_data) {
  session.in_flight.wait_until_idle();
  Declaration& declaration = session.declaration;
  if (session.is_loaded) {
    throw StateError(
        ErrorInfo{.op = "compile",
                  .what = "the graph was loaded and is compiled; it has no "
                          "layers to be compiled again",
                  .hint = "Load the file for another device or batch size."});
  }
  device.context()->require_not_lost("compile");
  require_compilable(declaration, options);
  require_data_parallel(device, options.data_parallel);
  declare_constants(declaration, constants, constants_data);
  Freeze freeze(declaration.graphs);
  LayerNames::make_unique(declaration.graphs, declaration.trained_inputs);
  for (const Tensor& parameter : trainable_parameters(declaration)) {
    refresh_slots(parameter);
  }
  forget_compilation(session);
  session.device = device;
  auto exchange = make_exchange(options.data_parallel);
  declaration.among_ranks = options.data_parallel.collective
                                ? options.data_parallel.gradients_of_ranks
                                : GradientAccumulation::None;
  declaration.reduce_losses = options.data_parallel.reduce_losses;
  declaration.computes_all_gradients = options.compute_all_gradients;
  declaration.is_linkable = options.link_graphs;
  declaration.accumulates_gradients = options.accumulate_gradients;
  declaration.debugs_layers = options.debug_layers;
  declaration.precision = options.precision;
  declaration.forget_boundary_gradients();
  const bool takes_gradients = options.link_graphs && declaration.trains;
  if (takes_gradients) declaration.allocate_boundary_gradients();
  session.placement.reset(context_of(device, options));
  Merged merged = merge_graphs(declaration);
  take_shard(exchange.get(), session.placement.context()->target(), merged);
  finish_compile(session, std::move(merged), compiler_options(options));
  session.executor.configure(
      declaration,
      // Verified graphs compare what has been freed, too.
      options.poison_memory && !options.verify,
      session.restored_seed ? *session.restored_seed : platform_seed());
  begin_exchange(session, std::move(exchange));
  freeze.keep();
  session.place_layers();
}

void load_for(Session& session, const Device& device, Merged merged,
              const CompilerOptions& options) {
  device.context()->require_not_lost("load");
  Declaration& declaration = session.declaration;
  session.is_loaded = true;
  session.device = device;
  declaration.trains = merged.graph.trains;
  declaration.optimizer = merged.objects.optimizer;
  declaration.is_linkable = merged.graph.is_linkable;
  Freeze freeze(declaration.graphs);
  session.placement.reset(device.context());
  finish_compile(session, std::move(merged), options);
  session.executor.configure(declaration, /*poison_memory=*/false,
                             platform_seed());
  freeze.keep();
}

}  // namespace

void compile(Session& session, const Device& device,
             const CompileOptions& options, const TensorMap& constants,
             DataList constants_data) {
  std::scoped_lock lock(session.mutex);
  compile_on(device, [&](const Device& chosen) {
    compile_for(session, chosen, options, constants, constants_data);
  });
}

void compile_loaded(Session& session, const Device& device,
                    const Merged& merged, const CompilerOptions& options) {
  std::scoped_lock lock(session.mutex);
  compile_on(device, [&](const Device& chosen) {
    load_for(session, chosen, merged, options);
  });
}

void compile_optimizer(Session& session, OptimizerPtr optimizer) {
  std::scoped_lock lock(session.mutex);
  session.require_device("compile_optimizer");
  if (!optimizer) {
    throw InvalidArgument(
        ErrorInfo{.op = "compile_optimizer", .what = "there is no optimizer"});
  }
  if (session.link.link()) {
    throw StateError(
        ErrorInfo{.op = "compile_optimizer",
                  .what = "the graph is linked, and linked graphs agree on who "
                          "updates shared parameters",
                  .hint = "Call compile_optimizer() before link()."});
  }
  session.in_flight.wait_until_idle();
  Merged merged{session.plan_cache->graph(), session.objects};
  const CompilerOptions options = session.plan_cache->options();
  const auto exchange = session.exchange;
  forget_compilation(session);
  session.declaration.optimizer = optimizer;
  session.placement.drop_slots(merged.graph.first_slot);
  set_optimizer(merged, std::move(optimizer), /*keeps_host_data=*/false);
  finish_compile(session, std::move(merged), options);
  begin_exchange(session, exchange);
}

}  // namespace traingraph
