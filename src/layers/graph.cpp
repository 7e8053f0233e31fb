// SPDX-License-Identifier: MIT
// Graph: adding nodes, as a whole or not at all, and looking at them.
#include "traingraph/graph.h"

#include <algorithm>
#include <utility>

#include "base/error_subject.h"
#include "graph/attributes.h"
#include "graph/op_def.h"
#include "layers/dot.h"
#include "layers/graph_state.h"
#include "layers/layer_builder.h"
#include "layers/layer_building.h"
#include "layers/sequence.h"
#include "ops/registry.h"
#include "traingraph/error.h"
#include "traingraph/layers/elementwise.h"
#include "traingraph/layers/gather.h"
#include "traingraph/layers/layout.h"

namespace traingraph {
namespace {

/// Puts the program's position back, and the whole graph when the node that is
/// being added does not get as far as commit().
class Addition {
 public:
  explicit Addition(GraphState& state)
      : state_(state),
        position_(state.program.position),
        checkpoint_(state.checkpoint()) {}
  ~Addition() {
    state_.program.position = std::move(position_);
    if (!is_committed_) state_.restore(checkpoint_);
  }
  void commit() { is_committed_ = true; }

 private:
  GraphState& state_;
  Program::Position position_;
  GraphState::Checkpoint checkpoint_;
  bool is_committed_ = false;
};

void require_open(const GraphState& state, const std::string& node) {
  if (state.num_compiles == 0) return;
  throw StateError(
      ErrorInfo{.op = "node",
                .node = node,
                .what = "the graph was compiled",
                .expected = "nodes before compile",
                .got = "a node after it",
                .hint = "Build a new graph; it may share parameters."});
}

/// A node of a graph is there for its results; those that only write are part
/// of a training step.
void require_results(const OpDef& op, const std::string& node) {
  if (!op.results.empty()) return;
  throw InvalidArgument(
      {.op = op.name,
       .node = node,
       .what = "an update is no node of a graph",
       .expected = "an op with results",
       .got = op.name,
       .hint = "Give the training graph an optimizer, or link graphs that "
               "share parameters: compile() appends their updates."});
}

void require_tensor(const Tensor& tensor, const std::string& node,
                    std::size_t index) {
  if (tensor) return;
  throw InvalidArgument(
      {.op = "node",
       .node = node,
       .what = "source " + std::to_string(index) + " is missing",
       .expected = "a tensor",
       .got = "an empty Tensor",
       .hint = {}});
}

void require_owner(const std::weak_ptr<GraphState>& owner,
                   const std::shared_ptr<GraphState>& state,
                   const Layer& layer) {
  const std::shared_ptr<GraphState> other = owner.lock();
  if (!other || other == state) return;
  throw InvalidArgument(
      {.op = "node",
       .node = layer.name(),
       .what = "the layer is a node of another graph",
       .expected = "a layer of this graph, or a new one",
       .got = "layer " + std::to_string(layer.layer_id()),
       .hint = "Share the graph, or make a layer with the same parameter "
               "tensors."});
}

/// `result`, or a copy of it when it is a tensor of the graph already.
ValueId own_result(LayerBuilder& builder, const GraphState& state,
                   ValueId result) {
  const Value& value = state.program.value(result);
  if (value.role == Role::Result && value.tensor == kNoTensor) return result;
  return builder.append(OpKind::Reshape, ShapeAttrs{value.desc.shape},
                        {result});
}

std::vector<Tensor> all_sources(const Layer& layer, std::vector<Tensor> sources,
                                const std::vector<Tensor>& loss_labels) {
  if (!loss_labels.empty() && !layer.is_loss()) {
    throw InvalidArgument(
        ErrorInfo{.op = "node",
                  .node = layer.name(),
                  .what = "loss labels for a layer that is no loss",
                  .expected = "a layer of losses",
                  .got = layer.name(),
                  .hint = {}});
  }
  sources.insert(sources.end(), loss_labels.begin(), loss_labels.end());
  const std::vector<Tensor> extra = layer.extra_sources();
  sources.insert(sources.end(), extra.begin(), extra.end());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    require_tensor(sources[i], layer.name(), i);
  }
  return sources;
}

}  // namespace

Graph::Graph() : state_(std::make_shared<GraphState>()) {}

Tensor Graph::node(LayerPtr layer, std::vector<Tensor> sources,
                   const NodeOptions& options) {
  if (!layer) {
    throw InvalidArgument(ErrorInfo{.op = "node",
                                    .node = {},
                                    .what = "the layer is missing",
                                    .expected = "a layer",
                                    .got = "null",
                                    .hint = {}});
  }
  if (const auto* chain = dynamic_cast<const layers::Sequential*>(&*layer)) {
    return add_nodes(*this, *chain, std::move(sources), options);
  }
  const std::lock_guard lock(state_->mutex);
  const std::lock_guard owner_lock(LayerNames::mutex());
  require_open(*state_, layer->name());
  require_owner(layer->graph_, state_, *layer);
  const bool is_first_node = layer->graph_.lock() != state_;
  const auto choose_name = [&] {
    return is_first_node ? LayerNames::choose(*state_, *layer) : layer->name();
  };
  sources = all_sources(*layer, std::move(sources), options.loss_labels);
  LayerBuilding building(*layer);
  if (building.is_needed()) building.run(choose_name(), sources);
  const std::string name = choose_name();  // its tensors have names, too
  LayerRecord record{.layer = layer,
                     .name = state_->free_result_name(name),
                     .sources = std::move(sources),
                     .results = {},
                     .disable_update = options.disable_update};

  Addition addition(*state_);
  state_->program.position = {.phase = Phase::Forward,
                              .layer = static_cast<int>(state_->records.size()),
                              .name = record.name};
  std::vector<ValueId> values;
  values.reserve(record.sources.size());
  for (const Tensor& source : record.sources) {
    values.push_back(state_->value(source));
  }
  LayerBuilder builder(*state_, *layer, record.name, std::move(values));
  with_subject("node", record.name, [&] { layer->lower(builder); });
  if (builder.results().empty()) {
    throw InternalError(ErrorInfo{.op = "node",
                                  .node = record.name,
                                  .what = "the layer has no result",
                                  .expected = "at least one",
                                  .got = "none",
                                  .hint = {}});
  }
  for (const ValueId result : builder.results()) {
    record.results.push_back(
        state_->result_tensor(own_result(builder, *state_, result), name));
  }
  Tensor first = record.results.front();
  if (is_first_node) LayerNames::fix(*state_, *layer, name);
  state_->add_record(std::move(record));
  layer->graph_ = state_;
  addition.commit();
  building.commit();
  return first;
}

std::vector<Tensor> Graph::op(OpKind kind, Attributes attributes,
                              std::vector<Tensor> inputs, std::string name,
                              Phase phase) {
  const OpDef& def = op_def(kind);
  if (name.empty()) name = def.name;
  require_results(def, name);
  const std::lock_guard lock(state_->mutex);
  require_open(*state_, name);

  Addition addition(*state_);
  state_->program.position = {.phase = phase, .layer = -1, .name = {}};
  std::vector<ValueId> values;
  values.reserve(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool is_mutated = i < def.inputs.size() && def.inputs[i].is_mutated;
    values.push_back(!inputs[i]
                         ? kNoValue
                         : state_->value(inputs[i], is_mutated ? Role::Variable
                                                               : Role::Input));
  }
  if (!values.empty() && values.front() != kNoValue) {
    const Shape& shape = state_->program.value(values.front()).desc.shape;
    count_axes_from_front(attributes, shape.rank());
  }
  const std::vector<ValueId> outputs = state_->program.append(
      kind, std::move(attributes), std::move(values), name);
  std::vector<Tensor> results;
  for (const ValueId output : outputs) {
    results.push_back(state_->result_tensor(output, name));
  }
  addition.commit();
  return results;
}

Tensor Graph::reshape(Shape shape, const Tensor& source) {
  return node(std::make_shared<layers::Reshape>(shape), source);
}

Tensor Graph::transpose(Shape axes, const Tensor& source) {
  return node(std::make_shared<layers::Transpose>(axes), source);
}

Tensor Graph::concatenate(std::vector<Tensor> sources, std::int64_t axis) {
  return node(std::make_shared<layers::Concatenation>(axis),
              std::move(sources));
}

std::vector<Tensor> Graph::split(const Tensor& source, std::int64_t split_count,
                                 std::int64_t axis) {
  const auto layer = std::make_shared<layers::Split>(split_count, axis);
  node(layer, source);
  return result_tensors(*layer);
}

std::vector<Tensor> Graph::split(const Tensor& source,
                                 Shape split_section_lengths,
                                 std::int64_t axis) {
  const auto layer =
      std::make_shared<layers::Split>(split_section_lengths, axis);
  node(layer, source);
  return result_tensors(*layer);
}

Tensor Graph::select(std::vector<Tensor> sources, const Tensor& condition) {
  sources.insert(sources.begin(), condition);
  return node(std::make_shared<layers::Selection>(), std::move(sources));
}

Tensor Graph::gather(std::int64_t axis, const Tensor& source,
                     const Tensor& indices) {
  return node(std::make_shared<layers::Gather>(axis), {source, indices});
}

Tensor Graph::scatter(std::int64_t axis, const Tensor& source,
                      const Tensor& indices, const Tensor& copy_from,
                      ReductionType reduction_type) {
  return node(std::make_shared<layers::Scatter>(axis, reduction_type),
              {source, indices, copy_from});
}

std::vector<LayerPtr> Graph::layers() const {
  const std::lock_guard lock(state_->mutex);
  return state_->layers();
}

std::vector<Tensor> Graph::source_tensors(const Layer& layer) const {
  const std::lock_guard lock(state_->mutex);
  std::vector<Tensor> result;
  for (const LayerRecord* record : state_->records_with(layer)) {
    result.insert(result.end(), record->sources.begin(), record->sources.end());
  }
  return result;
}

std::vector<Tensor> Graph::result_tensors(const Layer& layer) const {
  const std::lock_guard lock(state_->mutex);
  std::vector<Tensor> result;
  for (const LayerRecord* record : state_->records_with(layer)) {
    result.insert(result.end(), record->results.begin(), record->results.end());
  }
  return result;
}

std::optional<Device> Graph::device() const { return std::nullopt; }

std::string Graph::summarized_dot_description() const {
  const std::lock_guard lock(state_->mutex);
  return dot_description(*state_);
}

}  // namespace traingraph
