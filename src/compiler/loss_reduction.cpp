// SPDX-License-Identifier: MIT
#include "compiler/loss_reduction.h"

#include <algorithm>
#include <vector>

#include "graph/op_def.h"
#include "ops/loss_shapes.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

enum { kPrediction = 0, kLabels = 1 };

LossReduction refused(std::string obstacle) {
  return {.type = ReductionType::None, .obstacle = std::move(obstacle)};
}

/// Mean of losses by class indices divides by what was not ignored.
bool divides_by_labels(const LossAttrs& attrs, DataType labels) {
  return attrs.reduction == ReductionType::Mean &&
         are_class_indices(attrs.type, labels);
}

/// What reduces the losses of a layer: its loss op, or the Reduce that is
/// followed by a shape and a factor (layers/loss_value.h).
const Node& reducing_node(const Program& program, ValueId loss) {
  const Node* node = &program.node(program.value(loss).producer);
  while (node->op->kind == OpKind::Activation ||
         node->op->kind == OpKind::Reshape) {
    const NodeId before = program.value(node->inputs[0]).producer;
    if (before < 0 || program.node(before).layer != node->layer) break;
    node = &program.node(before);
  }
  return *node;
}

/// Does `value`, or anything that it is computed from, vary with the batch?
bool depends_on_batch(const Program& program, ValueId value) {
  std::vector<bool> is_seen(program.values().size(), false);
  std::vector<ValueId> open{value};
  while (!open.empty()) {
    const ValueId id = open.back();
    open.pop_back();
    if (id == kNoValue || is_seen[id]) continue;
    is_seen[id] = true;
    const Value& next = program.value(id);
    if (next.batch) return true;
    if (next.producer < 0) continue;
    const Node& node = program.node(next.producer);
    open.insert(open.end(), node.inputs.begin(), node.inputs.end());
  }
  return false;
}

}  // namespace

LossReduction reduction_of(const MergedGraph& graph, const LayerInfo& layer) {
  const Program& program = graph.program;
  const ValueId loss = graph.find(layer.results.front());
  const Node& node = reducing_node(program, loss);
  if (const auto* reduce = std::get_if<ReduceAttrs>(&node.attrs)) {
    const bool is_fixed =
        !graph.batch_obstacle && !depends_on_batch(program, loss);
    return {.type = is_fixed ? ReductionType::Mean : reduce->type,
            .obstacle = {}};
  }
  const bool is_known_fixed =
      !graph.batch_obstacle && !program.value(node.inputs[kPrediction]).batch;
  const auto* const attrs = std::get_if<LossAttrs>(&node.attrs);
  if (is_known_fixed) return {.type = ReductionType::Mean, .obstacle = {}};
  if (!attrs || attrs->reduction != ReductionType::Mean) {
    return {.type = ReductionType::Sum, .obstacle = {}};
  }
  const DataType labels = program.desc(node.inputs[kLabels]).data_type;
  if (divides_by_labels(*attrs, labels)) {
    return refused("the loss \"" + layer.name +
                   "\" divides by the weights of its classes, and by labels "
                   "that are not ignored, not by samples");
  }
  return {.type = ReductionType::Mean, .obstacle = {}};
}

LossReduction reduction_of_losses(const MergedGraph& graph) {
  const bool takes_gradients =
      std::ranges::any_of(graph.user_gradients,
                          [](const auto& user) { return !user.is_boundary; }) ||
      !graph.given_gradients.empty() || graph.declares_gradients;
  if (takes_gradients) return refused("gradients come from the user");
  if (graph.losses.empty()) return refused("there is no loss");
  const LayerInfo& first = graph.layers[graph.losses.front()];
  const LossReduction reduction = reduction_of(graph, first);
  for (const int layer : graph.losses) {
    const LayerInfo& info = graph.layers[layer];
    LossReduction other = reduction_of(graph, info);
    if (!other.obstacle.empty()) return other;
    if (other.type == reduction.type) continue;
    return refused("the losses \"" + first.name + "\" and \"" + info.name +
                   "\" are reduced in different ways over samples");
  }
  return reduction;
}

void require_losses_reduce(const MergedGraph& graph) {
  const auto fail = [](std::string got) {
    throw InvalidArgument(
        ErrorInfo{.op = "compile",
                  .node = "reduce_losses",
                  .what = "there is no number to be reduced over processes",
                  .expected = "losses with the reduction mean or sum",
                  .got = std::move(got)});
  };
  if (graph.losses.empty()) fail("no loss");
  for (const int layer : graph.losses) {
    const LayerInfo& info = graph.layers[layer];
    const TensorDescriptor& desc = graph.tensors[info.results.front()].desc;
    if (desc.shape.num_elements() == 1) continue;
    fail("\"" + info.name + "\" of " + desc.shape.to_string());
  }
}

GradientAccumulation resolved(GradientAccumulation by,
                              const LossReduction& losses, const char* op,
                              const char* node) {
  if (by != GradientAccumulation::ByLoss) return by;
  if (losses.obstacle.empty()) {
    return losses.type == ReductionType::Mean ? GradientAccumulation::Mean
                                              : GradientAccumulation::Sum;
  }
  throw InvalidArgument(ErrorInfo{
      .op = op,
      .node = node,
      .what = "the losses do not say how gradients add up: " + losses.obstacle,
      .expected = "\"sum\" or \"mean\"",
      .got = "by the losses",
      .hint =
          "\"mean\" counts each part by its samples, \"sum\" adds up all "
          "of each, a penalty on parameters, too. Losses that are all means "
          "need neither."});
}

}  // namespace traingraph
