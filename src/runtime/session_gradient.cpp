// SPDX-License-Identifier: MIT
// Gradients as the host sees them: tensors, device memory, the whole block.
#include <algorithm>

#include "runtime/session.h"
#include "traingraph/error.h"

namespace traingraph {

Tensor Session::gradient_tensor(const Tensor& input) const {
  std::scoped_lock lock(mutex_);
  require_compiled("gradient_tensor");
  const auto it = gradient_tensors_.find(input.tensor_id());
  return it == gradient_tensors_.end() ? Tensor() : it->second;
}

std::vector<Tensor> Session::layer_gradients(const Layer& layer,
                                             bool incoming) const {
  std::scoped_lock lock(mutex_);
  require_compiled("gradient tensors of a layer");
  std::vector<Tensor> gradients;
  for (const auto& graph : declaration_.graphs) {
    for (const LayerRecord& record : graph->records) {
      if (record.layer->layer_id() != layer.layer_id()) continue;
      for (const Tensor& t : incoming ? record.results : record.sources) {
        const auto it = gradient_tensors_.find(t.tensor_id());
        if (it != gradient_tensors_.end()) gradients.push_back(it->second);
      }
    }
  }
  return gradients;
}

Location Session::gradient_location(const Tensor& parameter) const {
  require_compiled("gradient");
  if (!last_gradient_) {
    throw StateError(ErrorInfo{
        .op = "gradient",
        .node = parameter.label(),
        .what = "there are no gradients of separate phases",
        .expected = "execute_forward and execute_gradient before",
        .hint = "execute() reuses the memory of each gradient at once."});
  }
  last_gradient_->wait();
  wait_until_idle();
  const Specialization& specialization = *last_gradient_->specialization;
  const CompiledProgram& compiled = *specialization.compilation.training;
  for (const Trained& trained : compiled.assembled.trained) {
    if (!(trained.tensor == parameter)) continue;
    const StorageId storage = compiled.lowered.storage_of[trained.gradient];
    return locate(compiled, specialization.compilation.phases,
                  arena(PlanKind::Phases), storage);
  }
  throw InvalidArgument(
      ErrorInfo{.op = "gradient",
                .node = parameter.label(),
                .what = "this tensor is not trained by this graph",
                .expected = "an updatable parameter that the loss depends on"});
}

std::shared_ptr<void> Session::gradient_owner() const {
  if (!declaration_.is_linkable) return arena(PlanKind::Phases).buffer();
  // Accumulators may be those of linked graphs.
  auto storage = std::make_shared<std::vector<std::shared_ptr<ArenaStorage>>>();
  for (const auto& [id, accumulator] : declaration_.accumulators) {
    const auto placed = placements_.find(accumulator.state().get());
    if (placed != placements_.end()) storage->push_back(placed->second);
  }
  return storage;
}

std::span<float> Session::gradient(const Tensor& parameter,
                                   std::shared_ptr<void>* owner) const {
  std::scoped_lock lock(mutex_);
  const Location at = gradient_location(parameter);
  if (owner) *owner = gradient_owner();
  return {reinterpret_cast<float*>(at.host()),
          static_cast<std::size_t>(parameter.shape().num_elements())};
}

std::span<float> Session::gradients(std::shared_ptr<void>* owner) const {
  std::scoped_lock lock(mutex_);
  require_compiled("gradients");
  const auto& trained = main_->compilation.training->assembled.trained;
  if (trained.empty()) return {};
  if (declaration_.is_linkable) {
    throw UnsupportedError(ErrorInfo{
        .op = "gradients",
        .what = "linkable graphs have no block of all gradients, since each "
                "may be shared with another graph",
        .hint = "Use gradient() for each parameter."});
  }
  const Location first = gradient_location(trained.front().tensor);
  if (owner) *owner = gradient_owner();
  const Plan& plan = last_gradient_->specialization->compilation.phases;
  return {reinterpret_cast<float*>(first.host()),
          plan.gradient_block.bytes / sizeof(float)};
}

std::vector<float> Session::gradient_data(const Tensor& parameter,
                                          const Layer& layer) const {
  const auto parameters = layer.parameters();
  const bool is_own = std::ranges::any_of(
      parameters, [&](const auto& p) { return p.tensor() == parameter; });
  if (!is_own) {
    throw InvalidArgument(
        ErrorInfo{.op = "gradient_data",
                  .node = layer.label(),
                  .what = "the tensor is no parameter of this layer",
                  .got = "\"" + parameter.label() + "\""});
  }
  std::shared_ptr<void> owner;  // of values, should another thread compile
  const std::span<float> values = gradient(parameter, &owner);
  return {values.begin(), values.end()};
}

}  // namespace traingraph
