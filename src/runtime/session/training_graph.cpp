// SPDX-License-Identifier: MIT
// What only training, or only inference graphs do.
#include <algorithm>

#include "runtime/session/session.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

std::shared_ptr<Session> new_session(bool trains,
                                     const std::vector<Graph>& graph_objects,
                                     std::shared_ptr<const losses::Loss> loss,
                                     OptimizerPtr optimizer) {
  auto session = std::make_shared<Session>();
  Declaration& declaration = session->declaration;
  declaration.trains = trains;
  declaration.add_graphs(graph_objects);
  declaration.loss = std::move(loss);
  declaration.optimizer = std::move(optimizer);
  return session;
}

}  // namespace

InferenceGraph::InferenceGraph(const std::vector<Graph>& graph_objects)
    : CompiledGraph(
          new_session(/*trains=*/false, graph_objects, nullptr, nullptr)) {}

void InferenceGraph::link(const std::vector<InferenceGraph>& graphs) {
  std::vector<std::shared_ptr<Session>> handles{session_};
  for (const InferenceGraph& graph : graphs) handles.push_back(graph.session_);
  link_sessions(handles);
}

Execution InferenceGraph::execute(DataList inputs_data,
                                  const ExecuteOptions& options) {
  return session_->executor.execute({inputs_data, {}, {}}, options);
}

Execution InferenceGraph::execute(DataList inputs_data,
                                  DataList loss_labels_data,
                                  DataList loss_label_weights_data,
                                  const ExecuteOptions& options) {
  return session_->executor.execute(
      {inputs_data, loss_labels_data, loss_label_weights_data}, options);
}

TrainingGraph::TrainingGraph(const std::vector<Graph>& graph_objects,
                             const TrainingLosses& loss, OptimizerPtr optimizer)
    : CompiledGraph(new_session(/*trains=*/true, graph_objects, loss.layer(),
                                std::move(optimizer))) {
  for (const auto& [name, result] : loss.results()) {
    if (session_->declaration.is_loss(name, result)) continue;
    auto layer = std::make_shared<losses::Value>();
    layer->set_name(name);
    node(std::move(layer), result);
  }
}

OptimizerPtr TrainingGraph::optimizer() const {
  std::scoped_lock lock(session_->mutex);
  return session_->declaration.optimizer;
}

void TrainingGraph::stop_gradient(const std::vector<Tensor>& tensors) {
  std::scoped_lock lock(session_->mutex);
  session_->require_not_compiled("stop_gradient");
  session_->declaration.stop_gradient(tensors);
}

void TrainingGraph::set_training_tensor_parameters(
    std::vector<TensorParameter> parameters) {
  std::scoped_lock lock(session_->mutex);
  session_->require_not_compiled("set_training_tensor_parameters");
  session_->declaration.set_trained_inputs(std::move(parameters));
}

void TrainingGraph::set_parameter_groups(std::vector<ParameterGroup> groups) {
  std::scoped_lock lock(session_->mutex);
  session_->require_not_compiled("set_parameter_groups");
  session_->declaration.set_groups(std::move(groups));
}

void TrainingGraph::set_gradient(const Tensor& parameter,
                                 const Tensor& gradient) {
  std::scoped_lock lock(session_->mutex);
  session_->require_not_compiled("set_gradient");
  session_->declaration.set_gradient(parameter, gradient);
}

Tensor TrainingGraph::allocate_user_gradient(const Tensor& tensor) {
  std::scoped_lock lock(session_->mutex);
  session_->require_not_compiled("allocate_user_gradient");
  return session_->declaration.allocate_user_gradient(tensor);
}

void TrainingGraph::compile_optimizer(OptimizerPtr optimizer) {
  traingraph::compile_optimizer(*session_, std::move(optimizer));
}

void TrainingGraph::link(const std::vector<TrainingGraph>& graphs) {
  std::vector<std::shared_ptr<Session>> handles{session_};
  for (const TrainingGraph& graph : graphs) handles.push_back(graph.session_);
  link_sessions(handles);
}

Execution TrainingGraph::execute(DataList inputs_data,
                                 DataList loss_labels_data,
                                 DataList loss_label_weights_data,
                                 const ExecuteOptions& options) {
  return session_->executor.execute(
      {inputs_data, loss_labels_data, loss_label_weights_data}, options);
}

Execution TrainingGraph::execute_forward(DataList inputs_data,
                                         DataList loss_labels_data,
                                         DataList loss_label_weights_data,
                                         const ExecuteOptions& options) {
  return session_->executor.execute_forward(
      {inputs_data, loss_labels_data, loss_label_weights_data}, options);
}

Execution TrainingGraph::execute_forward(const ExecuteOptions& options) {
  return session_->executor.execute_forward({}, options);
}

Execution TrainingGraph::execute_gradient(const ExecuteOptions& options) {
  return session_->executor.execute_gradient(options);
}

Execution TrainingGraph::execute_optimizer_update(
    const ExecuteOptions& options) {
  return session_->executor.execute_update(options);
}

std::vector<Tensor> TrainingGraph::parameters() const {
  std::scoped_lock lock(session_->mutex);
  session_->require_compiled("parameters");
  std::vector<Tensor> parameters;
  const CompiledProgram& program = session_->main().program(PlanKind::Phases);
  for (const Trained& trained : program.assembled.trained) {
    parameters.push_back(session_->objects.tensors[trained.tensor]);
  }
  return parameters;
}

void TrainingGraph::bind_optimizer_data(
    std::span<const TensorData> data, const Tensor& parameter,
    std::span<const TensorOptimizerDeviceData> device_data) {
  {
    std::scoped_lock lock(session_->mutex);
    session_->require_device("bind_optimizer_data");
    session_->in_flight.wait_until_idle();
    const MergedGraph& graph = session_->plan_cache->graph();
    const bool has_slots =
        graph.update &&
        std::ranges::find(graph.trainable, session_->objects.find(parameter)) !=
            graph.trainable.end();
    if (!has_slots) {
      throw InvalidArgument(
          ErrorInfo{.op = "bind_optimizer_data",
                    .node = parameter.name(),
                    .what = "the optimizer does not train this tensor"});
    }
  }
  parameter.bind_optimizer_data(data, device_data);
}

std::uint64_t TrainingGraph::random_step() const {
  std::scoped_lock lock(session_->mutex);
  return session_->executor.random_state().step();
}

void TrainingGraph::set_random_step(std::uint64_t step) {
  std::scoped_lock lock(session_->mutex);
  session_->executor.random_state().set_step(step);
}

}  // namespace traingraph
