// SPDX-License-Identifier: MIT
// The gradient of one node: what the reverse walk appends for it, and what a
// graph whose backward half is written node by node is made of.
//
// Example: y = matmul(x, w), result gradient g, both inputs wanted: appends
// dx = matmul(g, w^T) and dw = matmul(x^T, g).
#pragma once

#include <functional>
#include <vector>

#include "graph/op_def.h"

namespace traingraph {

struct NodeGradientRequest {
  NodeId node = -1;
  /// The gradient of each result; kNoValue: nothing depends on it.
  std::vector<ValueId> result_gradients;
  /// Says of each input whether its gradient is asked for; that of inputs
  /// behind the last is not.
  std::vector<bool> wanted;
  /// When the gradient ops run; not before what they read.
  Phase phase = Phase::Gradient;
};

/// Gradients by input; kNoValue where none is wanted, none arrives, or the op
/// says that gradients end. An input that is read twice has two. Appended nodes
/// get the layer and name of the node. Throws UnsupportedError naming op and
/// node when there is no gradient rule; InvalidArgument and ShapeError when the
/// request does not fit the node.
std::vector<ValueId> differentiate_node(Program& program,
                                        const NodeGradientRequest& request);

/// Each contribution goes to `add` as soon as its ops are appended.
using AddGradient = std::function<void(int input, ValueId gradient)>;
void differentiate_node(Program& program, const NodeGradientRequest& request,
                        const AddGradient& add);

}  // namespace traingraph
