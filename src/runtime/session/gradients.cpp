// SPDX-License-Identifier: MIT
// Gradients as the host sees them: tensors, device memory, the whole block.
#include <algorithm>

#include "runtime/session/session.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

/// A parameter's gradient of the last gradient pass, which is over.
struct Gradient {
  Location at;
  TensorDescriptor desc;
};

Gradient find_gradient(const Session& session, const Tensor& parameter) {
  session.require_device("gradient");
  const auto& last = session.executor.phases().last_gradient();
  if (!last) {
    throw StateError(
        ErrorInfo{.op = "gradient",
                  .node = parameter.name(),
                  .what = "there are no gradients of separate phases",
                  .expected = "execute_forward and execute_gradient before",
                  .hint = "execute() keeps no gradients for the host."});
  }
  last->wait();
  session.in_flight.wait_until_idle();
  const Compilation& compilation = last->specialization->compilation;
  const CompiledProgram& compiled = compilation.program(PlanKind::Phases);
  const Trained* const trained =
      compiled.assembled.find_trained(session.objects.find(parameter));
  if (!trained) {
    throw InvalidArgument(ErrorInfo{
        .op = "gradient",
        .node = parameter.name(),
        .what = "this tensor is not trained by this graph",
        .expected = "an updatable parameter that the loss depends on"});
  }
  const StorageId storage = compiled.lowered.storage_of[trained->gradient];
  return {session.placement.locate(compiled, compilation.plan(PlanKind::Phases),
                                   PlanKind::Phases, storage),
          compiled.assembled.program.desc(trained->gradient)};
}

/// Returns what keeps the memory of gradients alive.
std::shared_ptr<void> owner_of_gradients(const Session& session) {
  const MergedGraph& graph = session.plan_cache->graph();
  const Placement& placement = session.placement;
  if (graph.accumulators.empty()) {
    return placement.arena(PlanKind::Phases)->buffer();
  }
  // Accumulators may be those of linked graphs.
  auto storage = std::make_shared<std::vector<std::shared_ptr<ArenaStorage>>>();
  for (const auto& [of, into] : graph.accumulators) {
    if (const auto& placed = placement.of(into)) storage->push_back(placed);
  }
  return storage;
}

/// Counts the bytes of all gradients: accumulators are an arena of their own,
/// and in the same order.
std::size_t block_bytes(const Session& session, const Compilation& last) {
  const auto& accumulators = last.graph->accumulators;
  if (accumulators.empty()) {
    return last.plan(PlanKind::Phases).gradient_block.bytes;
  }
  const auto& trained = last.program(PlanKind::Phases).assembled.trained;
  const auto first = std::ranges::find(accumulators, trained.front().tensor,
                                       &MergedGraph::Accumulator::of);
  return session.placement.of(first->into)->arena->size_bytes();
}

GradientView view_of(const char* call, const Session& session, Location at,
                     TensorDescriptor desc) {
  const DeviceContext& context = *session.placement.context();
  std::byte* const view = context.host_view(at);
  if (!view) {
    throw UnsupportedError(ErrorInfo{
        .op = call,
        .what = "the host cannot see this device's memory",
        .got = context.description(),
        .hint = "Use gradient_data() and set_gradient_data(), which copy."});
  }
  const std::size_t bytes = desc.size_bytes();
  return {std::move(desc), {view, bytes}, owner_of_gradients(session)};
}

void require_floats(const char* call, const TensorDescriptor& desc) {
  if (desc.data_type == DataType::Float32) return;
  throw DTypeError(
      ErrorInfo{.op = call,
                .what = "the gradient is not float32",
                .expected = "float32",
                .got = std::string(to_string(desc.data_type)),
                .hint = "Use gradient_view(), which says what the bytes are."});
}

std::span<float> floats_of(const char* call, const GradientView& view,
                           std::shared_ptr<void>* owner) {
  if (view.data.empty()) return {};
  require_floats(call, view.descriptor);
  if (owner) *owner = view.owner;
  return {reinterpret_cast<float*>(view.data.data()),
          view.data.size() / sizeof(float)};
}

void require_size(const Tensor& parameter, const TensorDescriptor& desc,
                  std::size_t got) {
  if (got == desc.size_bytes()) return;
  throw ShapeError(ErrorInfo{.op = "set_gradient_data",
                             .node = parameter.name(),
                             .what = "wrong number of values",
                             .expected = desc.to_string() + ", " +
                                         std::to_string(desc.size_bytes()) +
                                         " bytes",
                             .got = std::to_string(got)});
}

std::vector<Tensor> gradients_of(const Session& session, const Layer& layer,
                                 bool incoming) {
  std::scoped_lock lock(session.mutex);
  session.require_compiled(incoming ? "incoming_gradients"
                                    : "outgoing_gradients");
  std::vector<Tensor> gradients;
  const auto& layers = session.objects.layers;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (layers[i]->layer_id() != layer.layer_id()) continue;
    const LayerInfo& info = session.plan_cache->graph().layers[i];
    for (TensorIndex t : incoming ? info.results : info.sources) {
      const auto* state = session.objects.tensors[t].state().get();
      const auto it = session.gradient_tensors.find(state);
      if (it != session.gradient_tensors.end()) gradients.push_back(it->second);
    }
  }
  return gradients;
}

}  // namespace

Tensor TrainingGraph::gradient_tensor(const Tensor& input) const {
  std::scoped_lock lock(session_->mutex);
  session_->require_compiled("gradient_tensor");
  const auto it = session_->gradient_tensors.find(input.state().get());
  return it == session_->gradient_tensors.end() ? Tensor() : it->second;
}

std::vector<Tensor> TrainingGraph::incoming_gradients(
    const Layer& layer) const {
  return gradients_of(*session_, layer, /*incoming=*/true);
}

std::vector<Tensor> TrainingGraph::outgoing_gradients(
    const Layer& layer) const {
  return gradients_of(*session_, layer, /*incoming=*/false);
}

GradientView TrainingGraph::gradient_view(const Tensor& parameter) const {
  std::scoped_lock lock(session_->mutex);
  const Gradient gradient = find_gradient(*session_, parameter);
  return view_of("gradient", *session_, gradient.at, gradient.desc);
}

GradientView TrainingGraph::gradients_view() const {
  std::scoped_lock lock(session_->mutex);
  session_->require_compiled("gradients");
  const Compilation& main = session_->main();
  const auto& trained = main.program(PlanKind::Phases).assembled.trained;
  if (trained.empty()) return {};
  if (main.graph->is_linkable) {
    throw UnsupportedError(ErrorInfo{
        .op = "gradients",
        .what = "linkable graphs have no block of all gradients, since each "
                "may be shared with another graph",
        .hint = "Use gradient() for each parameter."});
  }
  const Gradient first = find_gradient(
      *session_, session_->objects.tensors[trained.front().tensor]);
  const Compilation& last =
      session_->executor.phases().last_gradient()->specialization->compilation;
  const DataType type = first.desc.data_type;
  const auto bytes = static_cast<std::int64_t>(block_bytes(*session_, last));
  const auto size = static_cast<std::int64_t>(size_of(type));
  return view_of("gradients", *session_, first.at, {{bytes / size}, type});
}

std::span<float> TrainingGraph::gradient(const Tensor& parameter,
                                         std::shared_ptr<void>* owner) const& {
  return floats_of("gradient", gradient_view(parameter), owner);
}

std::span<float> TrainingGraph::gradients(std::shared_ptr<void>* owner) const& {
  return floats_of("gradients", gradients_view(), owner);
}

std::vector<float> TrainingGraph::gradient_data(const Tensor& parameter) const {
  std::scoped_lock lock(session_->mutex);
  const Gradient gradient = find_gradient(*session_, parameter);
  require_floats("gradient_data", gradient.desc);
  std::vector<float> values(gradient.desc.shape.num_elements());
  session_->placement.context()->download(
      gradient.at, std::as_writable_bytes(std::span(values)));
  return values;
}

void TrainingGraph::set_gradient_data(const Tensor& parameter,
                                      std::span<const float> values) {
  std::scoped_lock lock(session_->mutex);
  const Gradient gradient = find_gradient(*session_, parameter);
  require_floats("set_gradient_data", gradient.desc);
  require_size(parameter, gradient.desc, values.size_bytes());
  session_->placement.context()->upload(std::as_bytes(values), gradient.at);
}

std::vector<float> TrainingGraph::gradient_data(const Tensor& parameter,
                                                const Layer& layer) const {
  const auto parameters = layer.parameters();
  const bool is_own = std::ranges::any_of(
      parameters, [&](const auto& p) { return p.tensor() == parameter; });
  if (!is_own) {
    throw InvalidArgument(
        ErrorInfo{.op = "gradient_data",
                  .node = layer.name(),
                  .what = "the tensor is no parameter of this layer",
                  .got = "\"" + parameter.name() + "\""});
  }
  return gradient_data(parameter);
}

}  // namespace traingraph
