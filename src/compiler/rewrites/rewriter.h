// SPDX-License-Identifier: MIT
// Rewriter: a walk over the forward phase on which rules replace nodes by fewer
// or cheaper ones. It knows who reads what while the program changes, so that a
// rule sees only what is still there: with the first node that it appends, the
// root goes, and with it what the rule has looked at and only the root needed,
// until it is read again. What a rule appends is rewritten, too, before the
// rule goes on.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/op_def.h"
#include "traingraph/rewrite.h"

namespace traingraph {

class Rewriter;

/// One rewrite. `apply` looks at a node of this op and returns what computes
/// the node's first result in its place, or kNoValue.
struct RewriteRule {
  const char* what;  // for reports: "layer normalization"
  OpKind root;
  ValueId (*apply)(Rewriter&, NodeId root);
};

/// Is it a node of the forward phase that is of no filter and of no layer in
/// `kept`?
bool may_be_rewritten(const Node& node, const std::vector<bool>& kept);

class Rewriter {
 public:
  /// Results in `named` (which may contain kNoValue) keep their ids, and nodes
  /// of the layers in `kept` stay as they are.
  Rewriter(Program& program, std::span<const RewriteRule> rules,
           std::span<const ValueId> named, const std::vector<bool>& kept);

  /// Walks once over all nodes. Returns what happened, in order.
  std::vector<Rewrite> run();
  /// By value: what it is now. Tables outside the program follow.
  std::span<const ValueId> same() const { return same_; }

  // What rules ask. They see no nodes of filters, of kept layers and of other
  // phases.

  const Node& node(NodeId id) const { return program_.node(id); }
  const Shape& shape(ValueId value) const { return program_.shape(value); }
  bool is_float32(ValueId value) const {
    return program_.desc(value).data_type == DataType::Float32;
  }
  /// The node of this op whose first result is `value`; null: there is none.
  const Node* maker(ValueId value, OpKind op) const;
  /// Such a node that is there for its one reader alone, and will go with it.
  const Node* inner(ValueId value, OpKind op) const;
  bool is_read(ValueId value) const;

  // What rules do. References to nodes end with the first append.

  /// Appends a node in the place of the one that is looked at. Returns its
  /// first result, or what replaces that.
  ValueId append(OpKind op, Attributes attrs, std::vector<ValueId> inputs);
  ValueId reshape(ValueId value, const Shape& shape);
  ValueId transpose(ValueId value, const Shape& axes);
  /// Says why the root stays as it is, though it is most of a `what`.
  ValueId nearly(NodeId root, const char* what, std::string reason);

 private:
  bool is_visible(const Node& node) const {
    return may_be_rewritten(node, is_kept_);
  }
  NodeId append_node(OpKind op, Attributes attrs, std::vector<ValueId> inputs);
  ValueId visit(NodeId id);
  ValueId apply_rules(NodeId id);
  ValueId find_equal(NodeId id);
  void replace(NodeId root, ValueId by);
  void rename(ValueId value, NodeId root);
  bool is_view_of(NodeId root, ValueId value) const;
  void start_reading(ValueId value, int times = 1);
  void stop_reading(ValueId value);
  /// A node that is gone reads nothing; it comes back with its first reader.
  void remove(NodeId id);
  void bring_back(NodeId id);
  void sweep();
  bool is_needed(const Node& node) const;
  /// Of results but the first.
  bool has_other_readers(const Node& node) const;
  void record(NodeId root, const char* what);

  Program& program_;
  const std::vector<bool>& is_kept_;  // by layer
  std::vector<bool> is_named_;        // by value
  std::vector<int> num_reads_;        // by value
  std::vector<ValueId> same_;         // by value
  std::vector<bool> is_gone_;         // by node
  std::vector<NodeId> order_;
  std::array<std::vector<const RewriteRule*>, kNumOps> rules_of_;
  /// Nodes by what they compute, for those that compute the same again.
  std::unordered_multimap<std::size_t, NodeId> computed_;
  NodeId num_original_ = 0;
  NodeId root_ = -1;  // that is looked at
  // Since the walk came to an original root:
  std::vector<NodeId> removed_;
  std::vector<NodeId> unread_;  // perhaps, and no rule has looked at them
  mutable std::vector<NodeId> seen_;
  std::vector<Rewrite> rewrites_;
};

/// The attributes of a node that is known to have these.
template <class Attrs>
const Attrs& attrs_of(const Node& node) {
  return std::get<Attrs>(node.attrs);
}

/// a * value + b
struct Line {
  ValueId of = kNoValue;
  float a = 1, b = 0;
};
/// What `value` is a line of, if a node that will go with its reader makes it
/// one; else of itself.
Line line_of(const Rewriter& rewriter, ValueId value);
/// The number that a value is everywhere.
std::optional<float> number_of(const Rewriter& rewriter, ValueId value);
/// Is it so, to the digits that exporters write?
bool is_near(float value, double expected);

}  // namespace traingraph
