// SPDX-License-Identifier: MIT
// What CompiledGraph::listing() returns: the forward ops of a compiled graph as
// data, for programs that write graphs in formats of their own.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "traingraph/op_attrs.h"
#include "traingraph/tensor.h"

namespace traingraph {

struct ListedValue {
  std::string name;
  TensorDescriptor descriptor;
  /// The kind is "input": given with every execution; "variable": a parameter
  /// or a running statistic; "constant": fixed at compile; "result": of a node.
  std::string_view role;
  /// The user's tensor; empty for what only ops inside a layer see.
  Tensor tensor = {};
  /// The axis that is a multiple of the batch; -1: none.
  int batch_axis = -1;
  /// Means something to its device alone; the descriptor says nothing.
  bool is_opaque = false;
};

struct ListedNode {
  std::string_view op;  // as in ops.inc
  Attributes attributes;
  std::string name;          // of the layer, or of the op
  std::vector<int> inputs;   // places in `values`; -1: left out
  std::vector<int> outputs;  // places in `values`
};

/// The ops in an order in which they can run, in the form that inference gives
/// them, at the compiled batch size.
struct GraphListing {
  using Names = std::map<std::string, int>;
  std::vector<ListedValue> values;
  std::vector<ListedNode> nodes;
  /// The declared names stand for places in `values`.
  Names inputs, labels, outputs;
  /// The output is the last result of the last graph, before the loss; -1:
  /// none.
  int result = -1;
  /// How each loss counts samples: "mean" or "sum"; "none" for the mean of what
  /// is no sample.
  std::map<std::string, std::string_view> losses;
};

}  // namespace traingraph
