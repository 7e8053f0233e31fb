// SPDX-License-Identifier: MIT
#include "compiler/loss_reduction.h"

#include <algorithm>

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

LossReduction reduction_of(const MergedGraph& graph, const LayerInfo& layer) {
  const Program& program = graph.program;
  const ValueId loss = graph.find(layer.results.front());
  const Node& node = program.node(program.value(loss).producer);
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

}  // namespace

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
      .hint = "\"mean\" counts each part by its samples."});
}

}  // namespace traingraph
