// SPDX-License-Identifier: MIT
#include "layers/layer_builder.h"

#include <algorithm>
#include <span>
#include <utility>

#include "graph/op_def.h"
#include "traingraph/device.h"
#include "traingraph/error.h"

namespace traingraph {

LayerBuilder::LayerBuilder(GraphState& graph, const Layer& layer,
                           std::string name, std::vector<ValueId> sources)
    : graph_(graph),
      layer_(layer),
      name_(std::move(name)),
      sources_(std::move(sources)),
      first_value_(graph.program.values().size()),
      first_node_(graph.program.nodes().size()) {}

const TensorDescriptor& LayerBuilder::desc(ValueId value) const {
  return graph_.program.desc(value);
}

void LayerBuilder::require_sources(int min, int max) const {
  if (num_sources() >= min && num_sources() <= max) return;
  std::string expected = std::to_string(min);
  if (max > min) expected += " to " + std::to_string(max);
  throw InvalidArgument(
      {.op = "node",
       .node = name(),
       .what = "wrong number of sources",
       .expected = std::move(expected),
       .got = std::to_string(num_sources()),
       .hint = layer_.is_loss()
                   ? "Give the prediction as source and its labels as "
                     "loss_labels."
                   : ""});
}

void LayerBuilder::require_size(const Tensor& tensor, const Shape& shape,
                                const char* what) const {
  if (tensor.shape().num_elements() == shape.num_elements()) return;
  throw ShapeError(
      {.op = "node",
       .node = name(),
       .what = std::string(what) + " have the wrong size",
       .expected = shape.to_string() + " or as many elements in another shape",
       .got = tensor.shape().to_string(),
       .hint = {}});
}

ValueId LayerBuilder::variable(const Tensor& tensor, const Shape& shape,
                               const char* what) {
  require_size(tensor, shape, what);
  const ValueId value = graph_.value(tensor, Role::Variable);
  if (graph_.program.shape(value) == shape) return value;
  return append(OpKind::Reshape, ShapeAttrs{shape}, {value});
}

ValueId LayerBuilder::statistic(const Tensor& tensor, const Shape& shape,
                                const char* what) {
  require_size(tensor, shape, what);
  const ValueId value = graph_.value(tensor, Role::Variable);
  TensorDescriptor& desc = graph_.program.value(value).desc;
  if (desc.shape == shape) return value;
  // Changing the shape is safe while no op has read the old one. A value that
  // this node added can only have been read by this node's ops.
  const bool is_new = static_cast<std::size_t>(value) >= first_value_;
  const std::span<const Node> nodes(graph_.program.nodes());
  for (const Node& node : nodes.subspan(is_new ? first_node_ : 0)) {
    if (std::find(node.inputs.begin(), node.inputs.end(), value) ==
        node.inputs.end()) {
      continue;
    }
    throw ShapeError(ErrorInfo{
        .op = "node",
        .node = name(),
        .what =
            std::string(what) + " are used by another node in another shape",
        .expected = shape.to_string(),
        .got = desc.shape.to_string(),
        .hint = "Make the tensor in the expected shape."});
  }
  desc.shape = shape;
  return value;
}

ValueId LayerBuilder::append(OpKind op, Attributes attrs,
                             std::vector<ValueId> inputs) {
  return graph_.program.append_one(op, std::move(attrs), std::move(inputs),
                                   name());
}

std::vector<ValueId> LayerBuilder::append_all(OpKind op, Attributes attrs,
                                              std::vector<ValueId> inputs) {
  return graph_.program.append(op, std::move(attrs), std::move(inputs), name());
}

bool takes(OpKind op, DataType type, const Device& device, int num_sources,
           int first) {
  DataTypes types = 0;
  for (int i = 0; i < num_sources; ++i) {
    types |= input_def(op_def(op), first + i).types;
  }
  return (types & bit(type)) != 0 && device.computes_in(type);
}

}  // namespace traingraph
