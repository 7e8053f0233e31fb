// SPDX-License-Identifier: MIT
// The public graph classes: each call goes to the session behind the handle.
#include "traingraph/training_graph.h"

#include "runtime/session.h"

namespace traingraph {

namespace {

/// Expires with the last handle; work in flight keeps the session itself.
std::shared_ptr<Session> held_by_handles(std::shared_ptr<Session> session) {
  Session* const raw = session.get();
  return {raw, [session = std::move(session)](Session*) mutable {
            session.reset();
          }};
}

}  // namespace

CompiledGraph::CompiledGraph(std::shared_ptr<Session> session)
    : session_(held_by_handles(std::move(session))) {
  session_->set_own_graph(state_);
}

void CompiledGraph::add_inputs(const TensorMap& inputs,
                               const TensorMap& loss_labels,
                               const TensorMap& loss_label_weights) {
  session_->add_inputs(inputs, loss_labels, loss_label_weights);
}

void CompiledGraph::add_outputs(const TensorMap& outputs) {
  session_->add_outputs(outputs);
}

void CompiledGraph::compile(const Device& device, const CompileOptions& options,
                            const TensorMap& input_tensors,
                            DataList input_tensors_data) {
  session_->compile(device, options, input_tensors, input_tensors_data);
}

bool CompiledGraph::is_compiled() const { return session_->is_compiled(); }

int CompiledGraph::compile_count() const { return session_->compile_count(); }

void CompiledGraph::bind_and_write_data(DataList data, const TensorMap& inputs,
                                        std::int64_t batch_size,
                                        bool /*synchronous*/) {
  session_->bind_and_write(data, inputs, batch_size);
}

MemoryReport CompiledGraph::memory() const { return session_->memory(); }

std::size_t CompiledGraph::device_memory_size() const {
  return session_->device_memory_size();
}

void CompiledGraph::synchronize() const { session_->wait_until_idle(); }

void CompiledGraph::synchronize_updates() { session_->synchronize_updates(); }

std::string CompiledGraph::plan_description() const {
  return session_->plan_description();
}

Report CompiledGraph::report() const { return session_->report(); }

Profile CompiledGraph::profile() const { return session_->profile(); }

std::optional<Device> CompiledGraph::device() const {
  return session_->device();
}

std::string CompiledGraph::summarized_dot_description() const {
  return session_->dot();
}

InferenceGraph::InferenceGraph(std::vector<Graph> graph_objects)
    : CompiledGraph(std::make_shared<Session>(
          /*trains=*/false, std::move(graph_objects), nullptr, nullptr)) {}

void InferenceGraph::link(std::vector<InferenceGraph> graphs) {
  std::vector<std::shared_ptr<Session>> handles{session_};
  for (const InferenceGraph& graph : graphs) handles.push_back(graph.session_);
  session_->link(handles);
}

Execution InferenceGraph::execute(DataList inputs_data,
                                  const ExecuteOptions& options) {
  return session_->execute({inputs_data, {}, {}}, options);
}

Execution InferenceGraph::execute(DataList inputs_data,
                                  DataList loss_labels_data,
                                  DataList loss_label_weights_data,
                                  const ExecuteOptions& options) {
  return session_->execute(
      {inputs_data, loss_labels_data, loss_label_weights_data}, options);
}

TrainingGraph::TrainingGraph(std::vector<Graph> graph_objects,
                             std::shared_ptr<const losses::Loss> loss,
                             OptimizerPtr optimizer)
    : CompiledGraph(std::make_shared<Session>(
          /*trains=*/true, std::move(graph_objects), std::move(loss),
          std::move(optimizer))) {}

OptimizerPtr TrainingGraph::optimizer() const { return session_->optimizer(); }

void TrainingGraph::stop_gradient(const std::vector<Tensor>& tensors) {
  session_->stop_gradient(tensors);
}

void TrainingGraph::set_training_tensor_parameters(
    std::vector<TensorParameter> parameters) {
  session_->set_trained_inputs(std::move(parameters));
}

Tensor TrainingGraph::allocate_user_gradient(const Tensor& tensor) {
  return session_->allocate_user_gradient(tensor);
}

void TrainingGraph::compile_optimizer(OptimizerPtr optimizer) {
  session_->compile_optimizer(std::move(optimizer));
}

void TrainingGraph::link(std::vector<TrainingGraph> graphs) {
  std::vector<std::shared_ptr<Session>> handles{session_};
  for (const TrainingGraph& graph : graphs) handles.push_back(graph.session_);
  session_->link(handles);
}

Execution TrainingGraph::execute(DataList inputs_data,
                                 DataList loss_labels_data,
                                 DataList loss_label_weights_data,
                                 const ExecuteOptions& options) {
  return session_->execute(
      {inputs_data, loss_labels_data, loss_label_weights_data}, options);
}

Execution TrainingGraph::execute_forward(DataList inputs_data,
                                         DataList loss_labels_data,
                                         DataList loss_label_weights_data,
                                         const ExecuteOptions& options) {
  return session_->execute_forward(
      {inputs_data, loss_labels_data, loss_label_weights_data}, options);
}

Execution TrainingGraph::execute_forward(const ExecuteOptions& options) {
  return session_->execute_forward({}, options);
}

Execution TrainingGraph::execute_gradient(const ExecuteOptions& options) {
  return session_->execute_gradient(options);
}

Execution TrainingGraph::execute_optimizer_update(
    const ExecuteOptions& options) {
  return session_->execute_update(options);
}

Tensor TrainingGraph::gradient_tensor(const Tensor& input) const {
  return session_->gradient_tensor(input);
}

std::vector<Tensor> TrainingGraph::source_gradient_tensors(
    const Layer& layer) const {
  return session_->layer_gradients(layer, /*incoming=*/true);
}

std::vector<Tensor> TrainingGraph::result_gradient_tensors(
    const Layer& layer) const {
  return session_->layer_gradients(layer, /*incoming=*/false);
}

std::span<float> TrainingGraph::gradient(const Tensor& parameter,
                                         std::shared_ptr<void>* owner) const& {
  return session_->gradient(parameter, owner);
}

std::span<float> TrainingGraph::gradients(std::shared_ptr<void>* owner) const& {
  return session_->gradients(owner);
}

std::vector<float> TrainingGraph::gradient_data(const Tensor& parameter,
                                                const Layer& layer) const {
  return session_->gradient_data(parameter, layer);
}

std::vector<Tensor> TrainingGraph::parameters() const {
  return session_->parameters();
}

void TrainingGraph::bind_optimizer_data(std::span<const TensorData> data,
                                        const Tensor& parameter) {
  session_->bind_optimizer_data(data, parameter);
}

std::uint64_t TrainingGraph::random_step() const {
  return session_->random_step();
}

void TrainingGraph::set_random_step(std::uint64_t step) {
  session_->set_random_step(step);
}

}  // namespace traingraph
