// SPDX-License-Identifier: MIT
// What training and inference graphs have in common.
#include <algorithm>
#include <unordered_set>

#include "compiler/merge_nodes.h"
#include "graph/tensor_state.h"
#include "layers/dot.h"
#include "runtime/device/device_wait.h"
#include "runtime/memory/transfer.h"
#include "runtime/session/session.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

/// Expires with the last handle; work in flight keeps the session itself.
std::shared_ptr<Session> held_by_handles(std::shared_ptr<Session> session) {
  Session* const raw = session.get();
  return {raw, [session = std::move(session)](Session*) mutable {
            session.reset();
          }};
}

/// Variables of a program that live where this graph placed them, once each.
void collect_variables(const Session& session, const Program& program,
                       std::vector<bool>& seen,
                       std::vector<TensorIndex>& variables) {
  for (const Value& value : program.values()) {
    if (value.role != Role::Variable || seen[value.tensor]) continue;
    seen[value.tensor] = true;
    const auto& placed = session.placement.of(value.tensor);
    if (!placed) continue;
    const TensorState& state = *session.objects.tensors[value.tensor].state();
    std::scoped_lock lock(state.mutex);
    if (state.device == placed) variables.push_back(value.tensor);
  }
}

/// A graph that was loaded has no declaration.
TensorMap declared(Session& session, MergedGraph::Names MergedGraph::* merged,
                   Declaration::Names Declaration::* declared) {
  const std::scoped_lock lock(session.mutex);
  if (!session.plan_cache) return session.declaration.*declared;
  TensorMap tensors;
  for (const auto& [name, tensor] : session.plan_cache->graph().*merged) {
    tensors.emplace(name, session.objects.tensors[tensor]);
  }
  return tensors;
}

}  // namespace

std::vector<TensorIndex> variables_of(const Session& session) {
  const Compilation& main = session.main();
  std::vector<bool> seen(session.objects.tensors.size(), false);
  std::vector<TensorIndex> variables;
  for (const auto* compiled : main.programs()) {
    collect_variables(session, compiled->assembled.program, seen, variables);
  }
  return variables;
}

CompiledGraph::CompiledGraph(std::shared_ptr<Session> session)
    : session_(held_by_handles(std::move(session))) {
  session_->declaration.graphs.push_back(state_);
}

std::vector<LayerPtr> CompiledGraph::layers() const {
  std::vector<LayerPtr> result;
  for (const std::shared_ptr<GraphState>& graph :
       session_->declaration.graphs) {
    const std::lock_guard lock(graph->mutex);
    // A layer is of one graph.
    const std::vector<LayerPtr> own = graph->layers();
    result.insert(result.end(), own.begin(), own.end());
  }
  return result;
}

void CompiledGraph::add_inputs(const TensorMap& inputs,
                               const TensorMap& loss_labels,
                               const TensorMap& loss_label_weights) {
  std::scoped_lock lock(session_->mutex);
  session_->require_not_compiled("add_inputs");
  session_->declaration.add_inputs(inputs, loss_labels, loss_label_weights);
}

void CompiledGraph::add_outputs(const TensorMap& outputs) {
  std::scoped_lock lock(session_->mutex);
  session_->require_not_compiled("add_outputs");
  session_->declaration.add_outputs(outputs);
}

TensorMap CompiledGraph::inputs() const {
  return declared(*session_, &MergedGraph::inputs, &Declaration::inputs);
}

TensorMap CompiledGraph::loss_labels() const {
  return declared(*session_, &MergedGraph::labels, &Declaration::labels);
}

TensorMap CompiledGraph::loss_label_weights() const {
  return declared(*session_, &MergedGraph::label_weights,
                  &Declaration::label_weights);
}

TensorMap CompiledGraph::outputs() const {
  return declared(*session_, &MergedGraph::outputs, &Declaration::outputs);
}

void CompiledGraph::compile(const Device& device, const CompileOptions& options,
                            const TensorMap& input_tensors,
                            DataList input_tensors_data) {
  traingraph::compile(*session_, device, options, input_tensors,
                      input_tensors_data);
}

bool CompiledGraph::is_compiled() const {
  std::scoped_lock lock(session_->mutex);
  return session_->plan_cache != nullptr;
}

int CompiledGraph::compile_count() const {
  std::scoped_lock lock(session_->mutex);
  return session_->num_compiles + session_->executor.num_specialized();
}

std::int64_t CompiledGraph::batch_size() const {
  std::scoped_lock lock(session_->mutex);
  session_->require_compiled("batch_size");
  return session_->main().batch;
}

std::optional<Device> CompiledGraph::device() const {
  std::scoped_lock lock(session_->mutex);
  return session_->plan_cache ? session_->device : std::nullopt;
}

void CompiledGraph::bind_and_write_data(DataList inputs_data,
                                        const TensorMap& inputs,
                                        std::int64_t batch_size,
                                        bool /*synchronous*/) {
  const char* call = "bind_and_write_data";
  // After a fork the mutex may be held by a thread that does not exist.
  require_device_threads();
  std::scoped_lock lock(session_->mutex);
  session_->require_device(call);
  session_->inputs.bind(
      inputs_data, inputs,
      session_->inputs.batch_of_bound(inputs_data, inputs, batch_size));
}

MemoryReport CompiledGraph::memory() const {
  std::scoped_lock lock(session_->mutex);
  session_->require_compiled("memory");
  const Compilation& main = session_->main();
  MemoryReport report;
  report.step = main.plan(PlanKind::Step).memory;
  report.phases = main.plan(PlanKind::Phases).memory;
  report.inference = main.plan(PlanKind::Inference).memory;
  session_->placement.report(report);
  report.staging_bytes = session_->executor.staging_bytes();
  if (session_->exchange) {
    report.staging_bytes += session_->exchange->staging_bytes();
  }
  report.engine_bytes = session_->placement.context()->engine_bytes();
  return report;
}

std::size_t CompiledGraph::device_memory_size() const {
  std::scoped_lock lock(session_->mutex);
  if (!session_->plan_cache) return 0;
  return session_->placement.arena_bytes(session_->main_plan());
}

void CompiledGraph::synchronize() const {
  session_->in_flight.wait_until_idle();
  const std::scoped_lock lock(session_->mutex);
  if (session_->plan_cache) session_->require_device("synchronize");
}

void CompiledGraph::synchronize_updates() {
  std::unique_lock lock(session_->mutex);
  session_->require_device("synchronize_updates");
  const std::vector<TensorIndex> variables = variables_of(*session_);
  // One, so that all values are of one step.
  const auto transfer =
      std::make_shared<Transfer>(session_->placement.context());
  std::vector<Tensor> tensors;
  for (TensorIndex variable : variables) {
    session_->placement.of(variable)->visit(
        [&](const DeviceBytes& from) { transfer->read(from); });
    tensors.push_back(session_->objects.tensors[variable]);
  }
  transfer->submit();
  lock.unlock();
  transfer->wait();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    store_host(*tensors[i].state(), transfer->bytes(i));
  }
}

std::string CompiledGraph::summarized_dot_description() const {
  std::scoped_lock lock(session_->mutex);
  if (session_->is_loaded) {
    throw UnsupportedError(
        ErrorInfo{.op = "summarized_dot_description",
                  .what = "the graph was loaded, and pictures are made of "
                          "layers, which a file does not have",
                  .hint = "plan_description() and report() show its nodes."});
  }
  Declaration declaration = session_->declaration;
  declaration.allows_undeclared = true;
  if (declaration.labels.size() != 1) declaration.loss = nullptr;
  std::unordered_set<std::uint64_t> stopped;
  for (const Tensor& tensor : declaration.stopped) {
    stopped.insert(tensor.tensor_id());
  }
  // Nodes may still be added. In address order, as every pair of locks here.
  auto graphs = declaration.graphs;
  std::ranges::sort(graphs);
  std::vector<std::unique_lock<std::mutex>> locks;
  for (const auto& graph : graphs) locks.emplace_back(graph->mutex);
  GraphState merged;
  merge_nodes(declaration, merged);
  return dot_description(merged, stopped);
}

}  // namespace traingraph
