// SPDX-License-Identifier: MIT
#include "compiler/merge_nodes.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "compiler/unread_results.h"
#include "graph/image_filter.h"
#include "graph/op_def.h"
#include "graph/tensor_state.h"
#include "layers/layer_builder.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

using States = std::unordered_set<const TensorState*>;

States states_of(std::initializer_list<const Declaration::Names*> lists) {
  States states;
  for (const Declaration::Names* names : lists) {
    for (const auto& [name, tensor] : *names) {
      states.insert(tensor.state().get());
    }
  }
  return states;
}

States states_of(const std::vector<TensorParameter>& parameters) {
  States states;
  for (const TensorParameter& parameter : parameters) {
    states.insert(parameter.tensor().state().get());
  }
  return states;
}

bool uses_inference_form(const GraphState& graph, const Node& node) {
  return node.op->inference_form && node.layer >= 0 &&
         graph.records[node.layer].layer->uses_inference_form();
}

/// Nodes of later phases that were declared go behind the forward nodes.
void order_by_phase(Program& program) {
  std::vector<NodeId> order(program.nodes().size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](NodeId id) {
    return std::pair(program.node(id).phase, id);
  });
  program.reorder(order);
}

/// Fills one graph state with the nodes of many.
class Merger {
 public:
  Merger(const Declaration& declaration, GraphState& into)
      : declaration_(declaration),
        labels_(states_of({&declaration.labels, &declaration.label_weights})),
        inputs_(states_of({&declaration.inputs})),
        constants_(states_of({&declaration.constants})),
        trained_inputs_(states_of(declaration.trained_inputs)),
        into_(into) {}

  ValueId run() {
    for (const auto& graph : declaration_.graphs) merge(*graph);
    if (declaration_.loss) append_loss();
    order_by_phase(program());
    return last_result_;
  }

 private:
  Program& program() { return into_.program; }

  void merge(const GraphState& source) {
    local_.assign(source.program.values().size(), kNoValue);
    stream_of_.clear();
    const int first_record = static_cast<int>(into_.records.size());
    const auto& filters = program().filters;
    const int first_filter =
        filters ? static_cast<int>(filters->filters.size()) : 0;
    for (const LayerRecord& record : source.records) {
      into_.records.push_back(record);
    }
    for (const Node& node : source.program.nodes()) {
      merge_node(source, node, first_record, first_filter);
      if (node.phase != Phase::Forward) continue;
      last_result_ = local_[first_result(source, node)];
    }
    append_filters(source.program, local_, program());
  }

  /// The layer's first result when the node belongs to a layer and it is known
  /// by now, else the node's own.
  ValueId first_result(const GraphState& source, const Node& node) const {
    if (node.layer >= 0 && !source.records[node.layer].results.empty()) {
      const Tensor& tensor = source.records[node.layer].results.front();
      const auto it = source.value_of.find(tensor.tensor_id());
      if (it != source.value_of.end() && local_[it->second] != kNoValue) {
        return it->second;
      }
    }
    return node.outputs.front();
  }

  void merge_node(const GraphState& source, const Node& node, int first_record,
                  int first_filter) {
    std::vector<ValueId> inputs;
    for (ValueId input : node.inputs) {
      inputs.push_back(input == kNoValue ? kNoValue : import(source, input));
    }
    Attributes attrs = node.attrs;
    give_stream(attrs, node, inputs);
    if (uses_inference_form(source, node)) node.op->inference_form(attrs);
    const int layer = node.layer < 0 ? -1 : node.layer + first_record;
    const bool is_filters = source.program.filters && node.filter >= 0;
    const int filter = is_filters ? node.filter + first_filter : -1;
    program().position = {node.phase, layer, node.name, filter};
    const auto outputs = program().append(node.op->kind, std::move(attrs),
                                          std::move(inputs), node.name);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      local_[node.outputs[i]] = outputs[i];
      const Value& value = source.program.value(node.outputs[i]);
      if (value.tensor == kNoTensor) continue;
      into_.name_value(outputs[i], source.tensors[value.tensor]);
    }
  }

  /// Streams of random numbers are distinct over all graph objects. A gradient
  /// that is a node of the graph drops what its forward node dropped: it has
  /// the stream of that one there.
  void give_stream(Attributes& attrs, const Node& node,
                   const std::vector<ValueId>& inputs) {
    if (auto* dropout = std::get_if<DropoutAttrs>(&attrs)) {
      const auto forward = stream_of_.find(dropout->stream);
      const bool is_gradient = node.phase == Phase::Gradient;
      if (is_gradient && forward != stream_of_.end()) {
        dropout->stream = forward->second;
      } else {
        const std::int64_t given = dropout->stream;
        dropout->stream = stream_of_[given] = next_stream_++;
      }
    }
    auto* attention = std::get_if<AttentionAttrs>(&attrs);
    if (!attention || attention->dropout == 0) return;
    if (node.op->kind == OpKind::Attention) {
      attention->stream = next_stream_++;
      return;
    }
    for (ValueId input : inputs) {
      const NodeId maker = input < 0 ? -1 : program().value(input).producer;
      if (maker < 0 || program().node(maker).op->kind != OpKind::Attention) {
        continue;
      }
      attention->stream =
          std::get<AttentionAttrs>(program().node(maker).attrs).stream;
    }
  }

  ValueId import(const GraphState& source, ValueId id) {
    if (local_[id] != kNoValue) return local_[id];
    const Value& value = source.program.value(id);
    local_[id] = value.tensor == kNoTensor
                     ? import_random_state(value)
                     : import_tensor(value, source.tensors[value.tensor]);
    return local_[id];
  }

  ValueId import_random_state(const Value& value) {
    if (into_.random_state == kNoValue) {
      into_.random_state =
          program().add_value(Role::Input, value.desc, "random_state");
    }
    return into_.random_state;
  }

  /// Gives the tensor's value the shape that the graph object's nodes want.
  ValueId import_tensor(const Value& value, const Tensor& tensor) {
    const auto it = into_.value_of.find(tensor.tensor_id());
    if (it != into_.value_of.end()) return it->second;
    return add(tensor, role_of(value, tensor), value.desc);
  }

  Role role_of(const Value& value, const Tensor& source) const {
    const TensorState* tensor = source.state().get();
    if (value.role != Role::Input) return value.role;
    if (constants_.contains(tensor)) return Role::Constant;
    if (trained_inputs_.contains(tensor)) return Role::Variable;
    const bool is_input = is_declared(tensor) || declaration_.allows_undeclared;
    if (is_input) return Role::Input;
    if (tensor->data.bytes != nullptr) return Role::Constant;
    throw InvalidArgument(ErrorInfo{
        .op = "compile",
        .node = tensor->name,
        .what = "a source tensor is neither produced by a node nor declared",
        .expected = "an input, a label, or a tensor with data",
        .got = value.desc.to_string() + " without data",
        .hint = "Declare it with add_inputs; list graph objects in the order "
                "in which data flows."});
  }

  bool is_declared(const TensorState* tensor) const {
    return inputs_.contains(tensor) || labels_.contains(tensor);
  }

  ValueId add(const Tensor& tensor, Role role) {
    const auto known = into_.value_of.find(tensor.tensor_id());
    if (known != into_.value_of.end()) return known->second;
    return add(tensor, role, tensor.descriptor());
  }

  ValueId add(const Tensor& tensor, Role role, TensorDescriptor desc) {
    const ValueId id =
        program().add_value(role, std::move(desc), tensor.name());
    into_.name_value(id, tensor);
    const bool is_batched = role == Role::Input && tensor.batch_axis() &&
                            is_declared(tensor.state().get());
    if (is_batched) program().value(id).batch.axis = *tensor.batch_axis();
    return id;
  }

  /// Weights that the layer has may be declared as input, but not others.
  void require_one_weights(const losses::Loss& loss) const {
    const auto& declared = declaration_.label_weights;
    const Tensor& first = declared.begin()->second;
    if (declared.size() == 1 && (!loss.weights() || loss.weights() == first)) {
      return;
    }
    throw InvalidArgument(ErrorInfo{
        .op = "compile",
        .node = loss.name(),
        .what = "the loss layer takes one tensor of weights",
        .expected = "1 entry in loss_label_weights, or the layer's weights",
        .got = std::to_string(declared.size()) + " entries" +
               (loss.weights() ? " and the layer's weights" : ""),
        .hint = "Add losses as nodes to weigh them apart."});
  }

  void require_one_label(const losses::Loss& loss) const {
    if (declaration_.labels.size() == 1) return;
    throw InvalidArgument(ErrorInfo{
        .op = "compile",
        .node = loss.name(),
        .what = "the loss layer takes one label tensor",
        .expected = "1 entry in loss_labels",
        .got = std::to_string(declaration_.labels.size()),
        .hint = "Declare it with add_inputs(inputs, loss_labels), or add "
                "losses as nodes."});
  }

  /// What the loss might have been meant for but is not would be left untrained
  /// without a word.
  void require_one_end(const losses::Loss& loss) {
    if (declaration_.is_linkable || declaration_.debugs_layers) return;
    std::vector<bool> wanted(program().values().size(), false);
    wanted[last_result_] = true;
    const auto want = [&](const Tensor& tensor) {
      const auto it = into_.value_of.find(tensor.tensor_id());
      if (it != into_.value_of.end()) wanted[it->second] = true;
    };
    for (const auto& [name, output] : declaration_.outputs) want(output);
    for (const auto& user : declaration_.user_gradients) want(user.of);
    for (const LayerRecord& record : into_.records) {
      if (!dynamic_cast<const losses::Loss*>(record.layer.get())) continue;
      for (const Tensor& result : record.results) want(result);
    }
    const std::vector<NodeId> others = find_unread(program(), wanted);
    if (others.empty()) return;
    const auto text = [&](ValueId value) {
      return "\"" + program().value(value).name + "\" " +
             program().shape(value).to_string();
    };
    const ValueId other = program().node(others.front()).outputs.front();
    throw InvalidArgument(ErrorInfo{
        .op = "compile",
        .node = loss.name(),
        .what =
            "the loss is of the last result, and another is read by nothing",
        .expected = "one result that nothing reads, besides outputs",
        .got = text(other) + " and " + text(last_result_),
        .hint = "Declare it with add_outputs, or say which result the loss is "
                "of: graph.node(loss, result, loss_labels=[label])."});
  }

  /// One that no node has. The loss layer may be that of several graphs, so
  /// its own name stays.
  std::string name_of_loss() const {
    std::unordered_set<std::string> taken;
    for (const LayerRecord& record : into_.records) taken.insert(record.name);
    const std::string& base = declaration_.loss->name();
    std::string name = base;
    for (int number = 2; taken.contains(name); ++number) {
      name = base + "_" + std::to_string(number);
    }
    return name;
  }

  void append_loss() {
    const losses::Loss& loss = *declaration_.loss;
    if (loss.takes_labels()) require_one_label(loss);
    if (last_result_ == kNoValue) {
      throw StateError(ErrorInfo{.op = "compile",
                                 .node = loss.name(),
                                 .what = "the graph objects have no nodes"});
    }
    require_one_end(loss);
    LayerRecord record;
    record.layer = declaration_.loss;
    record.name = name_of_loss();
    std::vector<ValueId> sources{last_result_};
    if (loss.takes_labels()) {
      const Tensor& label = declaration_.labels.begin()->second;
      sources.push_back(add(label, Role::Input));
      record.sources = {label};
    }
    std::vector<Tensor> weights = loss.extra_sources();
    if (!declaration_.label_weights.empty()) {
      require_one_weights(loss);
      weights =
          loss.extra_sources_with(declaration_.label_weights.begin()->second);
    }
    for (const Tensor& tensor : weights) {
      const Role role =
          is_declared(tensor.state().get()) ? Role::Input : Role::Constant;
      sources.push_back(add(tensor, role));
      record.sources.push_back(tensor);
    }
    const int index = static_cast<int>(into_.records.size());
    program().position = {Phase::Forward, index, record.name};
    LayerBuilder builder(into_, loss, record.name, sources);
    loss.lower(builder);
    const ValueId loss_value = builder.results().front();
    Tensor tensor(program().desc(loss_value), record.name);
    record.results = {tensor};
    into_.records.push_back(std::move(record));
    into_.name_value(loss_value, tensor);
  }

  const Declaration& declaration_;
  const States labels_, inputs_, constants_, trained_inputs_;
  GraphState& into_;
  std::vector<ValueId> local_;  // of the graph object being merged
  ValueId last_result_ = kNoValue;
  std::int64_t next_stream_ = 0;
  /// Maps the stream of a dropout in the graph object being merged to its own
  /// here.
  std::unordered_map<std::int64_t, std::int64_t> stream_of_;
};

}  // namespace

ValueId merge_nodes(const Declaration& declaration, GraphState& into) {
  return Merger(declaration, into).run();
}

}  // namespace traingraph
