// SPDX-License-Identifier: MIT
#include "compiler/merge.h"

#include <algorithm>

#include "graph/tensor_state.h"
#include "layers/layer_builder.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

bool contains(const std::map<std::string, Tensor>& tensors,
              const TensorState* state) {
  return std::ranges::any_of(tensors, [&](const auto& entry) {
    return entry.second.state().get() == state;
  });
}

class Merger {
 public:
  Merger(const Declaration& declaration, Mode mode, std::int64_t batch,
         Merged& out)
      : declaration_(declaration),
        mode_(mode),
        from_(declared_batch(declaration)),
        to_(batch),
        out_(out) {}

  void run() {
    for (const auto& graph : declaration_.graphs) merge(*graph);
    out_.result = last_result_;
    if (declaration_.loss) append_loss();
    grow(out_.depends_on_labels);
  }

 private:
  Program& program() { return out_.graph.program; }

  void grow(std::vector<bool>& flags) {
    flags.resize(program().values().size(), false);
  }

  void merge(const GraphState& source) {
    local_.assign(source.program.values().size(), kNoValue);
    std::vector<std::uint64_t> tensor_of(local_.size(), 0);
    for (const auto& [tensor, value] : source.value_of) {
      tensor_of[value] = tensor;
    }
    const int first_record = static_cast<int>(out_.graph.records.size());
    for (const LayerRecord& record : source.records) {
      out_.graph.records.push_back(record);
    }
    for (const Node& node : source.program.nodes()) {
      const bool is_stopped =
          !node.outputs.empty() && stops(tensor_of[node.outputs.front()]);
      merge_node(source, node, first_record, is_stopped);
      for (ValueId result : node.outputs) {
        if (tensor_of[result] == 0) continue;
        out_.graph.value_of[tensor_of[result]] = local_[result];
      }
      last_result_ = local_[first_result(source, node)];
    }
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

  bool stops(std::uint64_t tensor) const {
    return std::ranges::any_of(declaration_.stopped, [&](const Tensor& t) {
      return t.tensor_id() == tensor;
    });
  }

  void merge_node(const GraphState& source, const Node& node, int first_record,
                  bool is_stopped) {
    std::vector<ValueId> inputs;
    bool is_batched = node.inputs.empty();
    bool sees_labels = false;
    for (ValueId input : node.inputs) {
      inputs.push_back(input == kNoValue ? kNoValue : import(source, input));
      if (input == kNoValue) continue;
      is_batched = is_batched || batched_[inputs.back()];
      sees_labels = sees_labels || out_.depends_on_labels[inputs.back()];
    }
    Attributes attrs = node.attrs;
    if (mode_ == Mode::Inference && node.op->inference_form) {
      node.op->inference_form(attrs);
    }
    if (auto* dropout = std::get_if<DropoutAttrs>(&attrs)) {
      dropout->stream = next_stream_++;
    }
    const int layer = node.layer < 0 ? -1 : node.layer + first_record;
    program().position = {Phase::Forward, layer, node.name};
    if (node.op->is_identity && node.op->is_identity(attrs)) {
      local_[node.outputs[0]] = inputs[0];
      if (is_stopped) local_[node.outputs[0]] = view_of(inputs[0], node.name);
      return;
    }
    if (to_ != from_ && is_batched && node.op->set_batch) {
      node.op->set_batch(attrs, from_, to_);
    }
    const auto outputs = append(node, std::move(attrs), std::move(inputs));
    grow(batched_);
    grow(out_.depends_on_labels);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      local_[node.outputs[i]] = outputs[i];
      batched_[outputs[i]] = is_batched;
      out_.depends_on_labels[outputs[i]] = sees_labels;
    }
  }

  /// A value of its own, so that other readers of `value` are not stopped.
  ValueId view_of(ValueId value, const std::string& name) {
    ShapeAttrs attrs{.shape = program().shape(value)};
    attrs.shape[0] = -1;
    const ValueId view =
        program().append_one(OpKind::Reshape, attrs, {value}, name);
    grow(batched_);
    grow(out_.depends_on_labels);
    batched_[view] = batched_[value];
    out_.depends_on_labels[view] = out_.depends_on_labels[value];
    return view;
  }

  std::vector<ValueId> append(const Node& node, Attributes attrs,
                              std::vector<ValueId> inputs) {
    if (to_ == from_) {
      return program().append(node.op->kind, std::move(attrs),
                              std::move(inputs), node.name);
    }
    try {
      return program().append(node.op->kind, std::move(attrs),
                              std::move(inputs), node.name);
    } catch (const Error& error) {
      throw UnsupportedError(ErrorInfo{
          .op = node.op->name,
          .node = node.name,
          .what = "cannot run with another batch size",
          .expected = "batch size " + std::to_string(from_),
          .got = std::to_string(to_) + " (" + error.what() + ")",
          .hint = "Pass batch_size=0, or keep axis 0 out of shape changes."});
    }
  }

  ValueId import(const GraphState& source, ValueId id) {
    if (local_[id] != kNoValue) return local_[id];
    const Value& value = source.program.value(id);
    local_[id] = value.tensor ? import_tensor(value) : import_random(value);
    return local_[id];
  }

  ValueId import_random(const Value& value) {
    return add(declaration_.random_state, Role::Input, value.name, value.desc);
  }

  ValueId import_tensor(const Value& value) {
    const auto it = out_.graph.value_of.find(value.tensor->id);
    if (it != out_.graph.value_of.end()) return it->second;
    const Tensor tensor(value.tensor);
    return add(tensor, role_of(value), tensor.label(), value.desc);
  }

  Role role_of(const Value& value) const {
    const TensorState* tensor = value.tensor.get();
    if (value.role != Role::Input) return value.role;
    if (contains(declaration_.constants, tensor)) return Role::Constant;
    for (const TensorParameter& trained : declaration_.trained_inputs) {
      if (trained.tensor().state().get() == tensor) return Role::Variable;
    }
    const bool is_input = is_declared(tensor) || declaration_.allows_undeclared;
    if (is_input) return Role::Input;
    if (tensor->data.bytes != nullptr) return Role::Constant;
    throw InvalidArgument(ErrorInfo{
        .op = "compile",
        .node = tensor->label,
        .what = "a source tensor is neither produced by a node nor declared",
        .expected = "an input, a label, or a tensor with data",
        .got = value.desc.to_string() + " without data",
        .hint = "Declare it with add_inputs; list graph objects in the order "
                "in which data flows."});
  }

  bool is_declared(const TensorState* tensor) const {
    return contains(declaration_.inputs, tensor) || is_label(tensor);
  }

  bool is_label(const TensorState* tensor) const {
    return contains(declaration_.labels, tensor) ||
           contains(declaration_.label_weights, tensor);
  }

  ValueId add(const Tensor& tensor, Role role) {
    return add(tensor, role, tensor.label(), tensor.descriptor());
  }

  ValueId add(const Tensor& tensor, Role role, const std::string& name,
              TensorDescriptor desc) {
    const auto known = out_.graph.value_of.find(tensor.tensor_id());
    if (known != out_.graph.value_of.end()) return known->second;
    const bool is_batched = role == Role::Input &&
                            is_declared(tensor.state().get()) &&
                            !desc.shape.empty() && desc.shape[0] == from_;
    if (is_batched) desc.shape[0] = to_;
    const ValueId id =
        program().add_value(role, std::move(desc), name, tensor.state());
    out_.graph.value_of[tensor.tensor_id()] = id;
    grow(batched_);
    grow(out_.depends_on_labels);
    batched_[id] = is_batched;
    out_.depends_on_labels[id] = is_label(tensor.state().get());
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
        .node = loss.label(),
        .what = "the loss layer takes one tensor of weights",
        .expected = "1 entry in loss_label_weights, or the layer's weights",
        .got = std::to_string(declared.size()) + " entries" +
               (loss.weights() ? " and the layer's weights" : ""),
        .hint = "Add losses as nodes to weigh them apart."});
  }

  /// One that no node has. The loss layer may be that of several graphs, so
  /// its own label stays.
  std::string name_of_loss() const {
    const std::string& label = declaration_.loss->label();
    std::string name = label;
    const auto is_taken = [&](const LayerRecord& record) {
      return record.name == name;
    };
    for (int number = 2; std::ranges::any_of(out_.graph.records, is_taken);
         ++number) {
      name = label + "_" + std::to_string(number);
    }
    return name;
  }

  void append_loss() {
    const losses::Loss& loss = *declaration_.loss;
    if (declaration_.labels.size() != 1) {
      if (mode_ == Mode::Inference && declaration_.labels.empty()) return;
      throw InvalidArgument(ErrorInfo{
          .op = "compile",
          .node = loss.label(),
          .what = "the loss layer takes one label tensor",
          .expected = "1 entry in loss_labels",
          .got = std::to_string(declaration_.labels.size()),
          .hint = "Declare it with add_inputs(inputs, loss_labels), or add "
                  "losses as nodes."});
    }
    if (last_result_ == kNoValue) {
      throw StateError(ErrorInfo{.op = "compile",
                                 .node = loss.label(),
                                 .what = "the graph objects have no nodes"});
    }
    const Tensor& label = declaration_.labels.begin()->second;
    LayerRecord record;
    record.layer = declaration_.loss;
    record.name = name_of_loss();
    std::vector<ValueId> sources{last_result_, add(label, Role::Input)};
    record.sources = {label};
    std::vector<Tensor> weights = loss.extra_sources();
    if (!declaration_.label_weights.empty()) {
      require_one_weights(loss);
      weights = {declaration_.label_weights.begin()->second};
    }
    for (const Tensor& tensor : weights) {
      const Role role =
          is_declared(tensor.state().get()) ? Role::Input : Role::Constant;
      sources.push_back(add(tensor, role));
      record.sources.push_back(tensor);
    }
    const int index = static_cast<int>(out_.graph.records.size());
    program().position = {Phase::Forward, index, record.name};
    LayerBuilder builder(out_.graph, loss, record.name, sources);
    loss.lower(builder);
    const ValueId result = builder.results().front();
    Tensor tensor(program().desc(result), record.name);
    out_.graph.records.push_back(std::move(record));
    out_.graph.value_of[tensor.tensor_id()] = result;
    out_.graph.records.back().results = {tensor};
    grow(out_.depends_on_labels);
    for (ValueId v = result;
         v < static_cast<ValueId>(program().values().size()); ++v) {
      out_.depends_on_labels[v] = true;
    }
    mark_label_dependants();
  }

  /// The loss may be several nodes; their values follow from their inputs.
  void mark_label_dependants() {
    for (const Node& node : program().nodes()) {
      const bool sees = std::ranges::any_of(node.inputs, [&](ValueId v) {
        return v != kNoValue && out_.depends_on_labels[v];
      });
      if (!sees) continue;
      for (ValueId v : node.outputs) out_.depends_on_labels[v] = true;
    }
  }

  const Declaration& declaration_;
  Mode mode_;
  std::int64_t from_, to_;
  Merged& out_;
  std::vector<ValueId> local_;  // of the graph object being merged
  std::vector<bool> batched_;   // axis 0 of this value is the batch
  ValueId last_result_ = kNoValue;
  std::int64_t next_stream_ = 0;
};

}  // namespace

std::int64_t declared_batch(const Declaration& declaration) {
  std::map<std::int64_t, int> votes;
  for (const auto* tensors :
       {&declaration.inputs, &declaration.labels, &declaration.label_weights}) {
    for (const auto& [name, tensor] : *tensors) ++votes[tensor.shape()[0]];
  }
  // Of equally frequent sizes the largest: others are rather single values.
  std::int64_t batch = 0;
  for (const auto& [size, count] : votes) {
    if (batch == 0 || count >= votes[batch]) batch = size;
  }
  return batch;
}

void merge_graphs(const Declaration& declaration, Mode mode, std::int64_t batch,
                  Merged& merged) {
  Merger(declaration, mode, batch, merged).run();
}

}  // namespace traingraph
