// SPDX-License-Identifier: MIT
// Program: the one intermediate form. A list of values and a list of nodes in
// topological order; the builder, autodiff, the optimizers and the compiler
// all append to it. It knows ops only through OpDef.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/batch_axis.h"
#include "traingraph/op_attrs.h"
#include "traingraph/phase.h"
#include "traingraph/types.h"

namespace traingraph {

struct ImageFilters;  // image_filter.h
struct OpDef;

using ValueId = std::int32_t;
using NodeId = std::int32_t;
/// Stands in the slot of an optional input that is absent.
inline constexpr ValueId kNoValue = -1;
/// A tensor of the user's: its index in the tensor list of the program's owner,
/// a graph object or a merged graph.
using TensorIndex = std::int32_t;
inline constexpr TensorIndex kNoTensor = -1;

/// Where a value's contents come from.
enum class Role : std::uint8_t {
  Input,     // written by the host for every execution
  Variable,  // lives on the device across executions; ops may mutate it
  Constant,  // data fixed at compile
  Result,    // written by its producer node
};

struct Value {
  TensorDescriptor desc;
  std::string name;
  Role role = Role::Result;
  TensorIndex tensor = kNoTensor;
  NodeId producer = -1;
  /// Merging graphs gives it to inputs; that of the rest is derived.
  BatchAxis batch = {};
  /// Opaque state between a forward op and its gradient op: the target chooses
  /// size and layout; desc is meaningless.
  bool is_opaque = false;
};

struct Node {
  const OpDef* op = nullptr;
  Attributes attrs;
  std::vector<ValueId> inputs;  // kNoValue where an optional input is absent
  std::vector<ValueId> outputs;
  Phase phase = Phase::Forward;
  /// Index into the layer list of the graph that is compiled; -1: none.
  int layer = -1;
  /// For messages, pictures and profiles: the layer's name, or the op's.
  std::string name;
  /// Index into Program::filters, when there are any; -1: of no filter node.
  int filter = -1;
};

class Program {
 public:
  /// Adds a value that no node produces.
  ValueId add_value(Role role, TensorDescriptor desc, std::string name,
                    TensorIndex tensor = kNoTensor);

  /// Checks the inputs against the op's schema, infers the results' shapes and
  /// appends the node in the phase of `position`, which is not before that of
  /// any input. Throws ShapeError, DTypeError or InvalidArgument that names op
  /// and node; the program is unchanged then.
  std::vector<ValueId> append(OpKind op, Attributes attrs,
                              std::vector<ValueId> inputs,
                              std::string name = {});
  /// append() for an op with one result, or the first of several.
  ValueId append_one(OpKind op, Attributes attrs, std::vector<ValueId> inputs,
                     std::string name = {});

  const std::vector<Value>& values() const { return values_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const Value& value(ValueId id) const { return values_[id]; }
  Value& value(ValueId id) { return values_[id]; }
  const Node& node(NodeId id) const { return nodes_[id]; }
  Node& node(NodeId id) { return nodes_[id]; }
  const TensorDescriptor& desc(ValueId id) const { return values_[id].desc; }
  const Shape& shape(ValueId id) const { return values_[id].desc.shape; }

  /// Nodes appended from now on get this phase, layer, default name and filter.
  struct Position {
    Phase phase = Phase::Forward;
    int layer = -1;
    std::string name;
    int filter = -1;
  };
  Position position;

  /// What the nodes were made for, when they were made for filter nodes; copies
  /// of the program share it. Null: no node has a filter.
  std::shared_ptr<const ImageFilters> filters;

  /// The node reads these instead, of the same shapes; its results get the
  /// types that its op gives them. Throws DTypeError for types that it does
  /// not take.
  void set_inputs(NodeId id, std::vector<ValueId> inputs);

  /// Replaces the node list; `order` names the nodes to keep, in a new
  /// topological order. Values keep their ids.
  void reorder(std::span<const NodeId> order);

  /// Drops whatever was appended after the first so many values and nodes; the
  /// undo of a layer that failed half-way.
  void truncate(std::size_t num_values, std::size_t num_nodes) {
    values_.erase(values_.begin() + static_cast<std::ptrdiff_t>(num_values),
                  values_.end());
    nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(num_nodes),
                 nodes_.end());
  }

  /// One line per node: "%7 = matmul(%3, %4) {...} : float32 (64, 10)".
  std::string to_string() const;

 private:
  std::vector<Value> values_;
  std::vector<Node> nodes_;
};

}  // namespace traingraph
