// SPDX-License-Identifier: MIT
#include "compiler/distribution/collectives.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "graph/op_def.h"

namespace traingraph {
namespace {

constexpr int kNone = -1;

/// Appends the sums of one assembled program.
class Reducer {
 public:
  Reducer(const PassContext& context, Assembled& a)
      : context_(context), graph_(context.graph), a_(a), program_(a.program) {}

  void run() {
    const bool sums_gradients = !graph_.is_linkable || graph_.update;
    if (sums_gradients) reduce_gradients();
    if (graph_.reduce_losses) reduce_losses();
    a_.depends_on_labels.resize(program_.values().size(), true);
  }

 private:
  struct Started {
    std::string name;
    std::vector<Trained*> trained;
    std::vector<ValueId> values;
  };

  void reduce_gradients() {
    const GradientSums phases = gradient_sums(graph_, context_.variant);
    std::vector<Started> sums;
    for (std::vector<Trained*>& bucket : buckets(phases)) {
      std::vector<std::string_view> names;
      std::vector<ValueId> gradients;
      for (const Trained* trained : bucket) {
        names.push_back(graph_.tensors[trained->tensor].name);
        gradients.push_back(trained->gradient);
      }
      std::string name = first_and_last(names);
      program_.position = {phases.start, -1, name};
      auto values = program_.append(OpKind::AllReduceStart, NoAttrs{},
                                    std::move(gradients));
      sums.push_back({std::move(name), std::move(bucket), std::move(values)});
    }
    for (Started& sum : sums) {
      program_.position = {phases.done, -1, std::move(sum.name)};
      const auto results = program_.append(OpKind::AllReduceDone, NoAttrs{},
                                           std::move(sum.values));
      for (std::size_t i = 0; i < results.size(); ++i) {
        sum.trained[i]->gradient = results[i];
      }
    }
  }

  /// Accumulators lie in the order of what is trained, gradients of a pass in
  /// that of all ranks. Neighbours share a bucket, up to its bytes; one that is
  /// larger goes alone.
  std::vector<std::vector<Trained*>> buckets(const GradientSums& phases) {
    std::vector<Trained*> gradients;
    if (phases.start == Phase::Update) {
      for (Trained& trained : a_.trained) gradients.push_back(&trained);
    } else {
      for (const TensorIndex tensor : context_.options.collectives.order) {
        const int at = a_.trained_at[tensor];
        if (at >= 0) gradients.push_back(&a_.trained[at]);
      }
    }
    std::vector<std::vector<Trained*>> buckets;
    std::size_t room = 0;
    for (Trained* const trained : gradients) {
      const std::size_t size = program_.desc(trained->gradient).size_bytes();
      if (size == 0) continue;
      if (buckets.empty() || size > room) {
        buckets.emplace_back();
        room = context_.options.collectives.bucket_bytes;
      }
      room -= std::min(room, size);
      buckets.back().push_back(trained);
    }
    return buckets;
  }

  /// Means weigh each rank's by its samples. The host reads results that no
  /// node does.
  void reduce_losses() {
    const bool is_step = context_.variant.timeline == Timeline::OneRun;
    const Phase start = is_step ? Phase::Gradient : Phase::Forward;
    program_.position = {start, -1, "losses"};
    std::vector<ValueId> parts;
    for (const ValueId loss : a_.losses) parts.push_back(part_of(loss));
    const auto started =
        program_.append(OpKind::AllReduceStart, NoAttrs{}, std::move(parts));
    program_.position.phase = is_step ? Phase::Update : Phase::Forward;
    a_.losses = program_.append(OpKind::AllReduceDone, NoAttrs{}, started);
  }

  ValueId part_of(ValueId loss) {
    if (!graph_.weights_gradients) {
      return program_.append_one(
          OpKind::Activation,
          ActivationAttrs{.type = ActivationType::Linear, .a = 1}, {loss});
    }
    ValueId& weight = a_.value_of[graph_.gradient_weight];
    if (weight == kNoValue) {
      const TensorInfo& info = graph_.tensors[graph_.gradient_weight];
      weight = program_.add_value(Role::Input, info.desc, info.name,
                                  graph_.gradient_weight);
    }
    return program_.append_one(OpKind::Binary,
                               ArithmeticAttrs{ArithmeticOperation::Multiply},
                               {loss, weight});
  }

  const PassContext& context_;
  const MergedGraph& graph_;
  Assembled& a_;
  Program& program_;
};

/// Finds for each value the last node before the updates that touches its
/// bytes, which views share.
std::vector<NodeId> last_touches(const Program& program) {
  std::vector<ValueId> bytes_of(program.values().size());
  for (std::size_t v = 0; v < bytes_of.size(); ++v) {
    bytes_of[v] = static_cast<ValueId>(v);
  }
  std::vector<NodeId> last(bytes_of.size(), kNone);
  for (NodeId id = 0; id < static_cast<NodeId>(program.nodes().size()); ++id) {
    const Node& node = program.node(id);
    if (node.op->is_host) continue;
    if (node.op->may_alias) {
      bytes_of[node.outputs[0]] = bytes_of[node.inputs[0]];
    }
    if (node.phase == Phase::Update) continue;
    for (const auto* touched : {&node.inputs, &node.outputs}) {
      for (const ValueId value : *touched) {
        if (value != kNoValue) last[bytes_of[value]] = id;
      }
    }
  }
  for (std::size_t v = 0; v < last.size(); ++v) last[v] = last[bytes_of[v]];
  return last;
}

/// Finds for each update the last sum that it needs, directly or through other
/// updates; none for other nodes. A node needs no earlier a sum than what it
/// must not overtake.
std::vector<int> needed_sums(const Program& program) {
  std::vector<int> read(program.values().size(), kNone), written = read;
  std::vector<int> needed(program.nodes().size(), kNone);
  int num_sums = 0;
  for (NodeId id = 0; id < static_cast<NodeId>(program.nodes().size()); ++id) {
    const Node& node = program.node(id);
    if (node.phase != Phase::Update) continue;
    int& last = needed[id];
    if (node.op->kind == OpKind::AllReduceDone) last = num_sums++;
    if (node.op->kind == OpKind::AllGather) {
      last = std::numeric_limits<int>::max();
    }
    for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i) {
      const ValueId value = node.inputs[i];
      if (value == kNoValue) continue;
      last = std::max(last, written[value]);
      if (mutates(node, i)) last = std::max(last, read[value]);
    }
    for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i) {
      const ValueId value = node.inputs[i];
      if (value == kNoValue) continue;
      read[value] = std::max(read[value], last);
      if (mutates(node, i)) written[value] = std::max(written[value], last);
    }
    for (const ValueId value : node.outputs) written[value] = last;
  }
  return needed;
}

void gather_parameters(const MergedGraph& graph, Assembled& a) {
  if (!graph.shards || !graph.update) return;
  std::vector<ValueId> parameters;
  for (const Trained& trained : a.trained) parameters.push_back(trained.value);
  if (parameters.empty()) return;
  a.program.position = {Phase::Update, -1, "parameters"};
  a.program.append(OpKind::AllGather, NoAttrs{}, std::move(parameters));
}

/// Sums that normalizations wait for come before all others: after which node a
/// gradient is complete differs between batch sizes.
NodeId last_awaited_sum(const Program& program) {
  NodeId last = 0;
  for (NodeId id = 0; id < static_cast<NodeId>(program.nodes().size()); ++id) {
    if (program.node(id).op->kind == OpKind::AllReduce) last = id;
  }
  return last;
}

bool is_start(const Node& node) {
  return node.op->kind == OpKind::AllReduceStart && node.phase != Phase::Update;
}

}  // namespace

GradientSums gradient_sums(const MergedGraph& graph, const Variant& variant) {
  if (variant.timeline == Timeline::OneRun) {
    return {Phase::Gradient, Phase::Update};
  }
  const bool adds_up = variant.accumulates && !graph.accumulators.empty();
  if (!adds_up) return {Phase::Gradient, Phase::Gradient};
  // Passes of linked graphs make one gradient, each of other samples.
  const bool weighs = graph.weights_gradients && !graph.is_linkable;
  return {Phase::Update, Phase::Update, weighs};
}

std::string first_and_last(std::span<const std::string_view> parameters) {
  std::string text(parameters.front());
  if (parameters.size() > 2) text += " ...";
  if (parameters.size() > 1) (text += ' ') += parameters.back();
  return text;
}

std::vector<TensorIndex> order_of_readiness(const Assembled& assembled) {
  std::vector<Trained> trained = assembled.trained;
  std::ranges::stable_sort(trained, {}, [&](const Trained& t) {
    return assembled.program.value(t.gradient).producer;
  });
  std::vector<TensorIndex> order;
  for (const Trained& t : trained) order.push_back(t.tensor);
  return order;
}

std::vector<TensorIndex> find_exchange_order(const MergedGraph& graph,
                                             const Target& target,
                                             std::int64_t batch) {
  return order_of_readiness(
      assemble(graph, {.accumulates = false}, batch, target));
}

bool has_collectives(const PassContext& context) {
  return context.differentiates() && context.options.collectives.are_there();
}

void reduce_over_ranks(const PassContext& context, Assembled& assembled) {
  if (!has_collectives(context)) return;
  Reducer(context, assembled).run();
}

void place_collectives(const PassContext& context, Assembled& assembled) {
  if (!has_collectives(context)) return;
  gather_parameters(context.graph, assembled);
  Program& program = assembled.program;
  const auto num_nodes = static_cast<NodeId>(program.nodes().size());
  const std::vector<NodeId> last = last_touches(program);
  std::vector<std::vector<NodeId>> starts_after(num_nodes);
  std::vector<NodeId> order, updates;
  // Sums begin in one order on all ranks.
  NodeId ready = last_awaited_sum(program);
  for (NodeId id = 0; id < num_nodes; ++id) {
    const Node& node = program.node(id);
    if (!is_start(node)) continue;
    for (const ValueId value : node.inputs) {
      ready = std::max(ready, last[value]);
    }
    starts_after[ready].push_back(id);
  }
  for (NodeId id = 0; id < num_nodes; ++id) {
    const Node& node = program.node(id);
    if (node.phase == Phase::Update) {
      updates.push_back(id);
    } else if (!is_start(node)) {
      order.push_back(id);
    }
    const auto& starts = starts_after[id];
    order.insert(order.end(), starts.begin(), starts.end());
  }
  const std::vector<int> needed = needed_sums(program);
  std::ranges::stable_sort(updates, {}, [&](NodeId id) { return needed[id]; });
  order.insert(order.end(), updates.begin(), updates.end());
  program.reorder(order);
}

}  // namespace traingraph
