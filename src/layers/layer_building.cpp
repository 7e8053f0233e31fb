// SPDX-License-Identifier: MIT
#include "layers/layer_building.h"

#include <utility>

#include "traingraph/error.h"

namespace traingraph {
namespace {

/// The constructor of a layer checks sizes without a node to name.
ErrorInfo at_node(ErrorInfo info, const std::string& node) {
  if (info.op.empty()) info.op = "node";
  if (info.node.empty()) info.node = node;
  return info;
}

}  // namespace

LayerBuilding::~LayerBuilding() {
  if (is_done_) return;
  layer_.unbuild();
  return_random_blocks(random_);
}

void LayerBuilding::run(const std::string& node,
                        const std::vector<Tensor>& sources) {
  if (sources.empty()) return;  // lower() refuses the node
  std::vector<Shape> shapes;
  for (const Tensor& source : sources) shapes.push_back(source.shape());
  try {
    layer_.build(shapes);
  } catch (const ShapeError& error) {
    throw ShapeError(at_node(error.info(), node));
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(at_node(error.info(), node));
  }
}

}  // namespace traingraph
