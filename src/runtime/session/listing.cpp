// SPDX-License-Identifier: MIT
// The forward program as public data.
#include "compiler/loss_reduction.h"
#include "graph/op_def.h"
#include "runtime/session/session.h"
#include "traingraph/graph_listing.h"

namespace traingraph {
namespace {

std::string_view role_name(Role role) {
  switch (role) {
    case Role::Input:
      return "input";
    case Role::Variable:
      return "variable";
    case Role::Constant:
      return "constant";
    case Role::Result:
      break;
  }
  return "result";
}

GraphListing::Names places(const MergedGraph& graph,
                           const MergedGraph::Names& names) {
  GraphListing::Names places;
  for (const auto& [name, tensor] : names) {
    const ValueId value = graph.find(tensor);
    if (value != kNoValue) places[name] = value;
  }
  return places;
}

}  // namespace

GraphListing CompiledGraph::listing() const {
  std::scoped_lock lock(session_->mutex);
  session_->require_compiled("listing");
  const MergedGraph& graph = session_->plan_cache->graph();
  GraphListing listing;
  for (const Value& value : graph.program.values()) {
    ListedValue listed{.name = value.name,
                       .descriptor = value.desc,
                       .role = role_name(value.role),
                       .batch_axis = value.batch.axis,
                       .is_opaque = value.is_opaque};
    if (value.tensor != kNoTensor) {
      listed.tensor = session_->objects.tensors[value.tensor];
    }
    listing.values.push_back(std::move(listed));
  }
  for (const Node& node : graph.program.nodes()) {
    if (node.phase != Phase::Forward) continue;
    ListedNode listed{.op = node.op->name,
                      .attributes = node.attrs,
                      .name = node.name,
                      .inputs = node.inputs,
                      .outputs = node.outputs};
    if (node.op->inference_form) node.op->inference_form(listed.attributes);
    listing.nodes.push_back(std::move(listed));
  }
  listing.inputs = places(graph, graph.inputs);
  listing.labels = places(graph, graph.labels);
  listing.outputs = places(graph, graph.outputs);
  listing.result = graph.result;
  for (const int loss : graph.losses) {
    const LayerInfo& layer = graph.layers[loss];
    listing.losses[layer.name] = to_string(reduction_of(graph, layer).type);
  }
  return listing;
}

}  // namespace traingraph
