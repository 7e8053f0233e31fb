// SPDX-License-Identifier: MIT
// Fusion: one unit computes several nodes, so that the value between them is
// never in memory. A backend says which of the patterns here its kernels
// compute (LoweringPolicy::find_fusions()); what is legal is the same for all.
//
//   before: p = convolution(x, w); y = activation(p)
//   after:  y = convolution+activation(x, w)
//
// Legal when nothing else reads p. The activation's gradient does, unless it
// can be computed from y, as for ReLU, where y > 0 just when p > 0.
//
// The cast to float32 behind a product of 16 bits is part of it, too: its sums
// are float32 anyway.
//
//   before: dw16 = weights_gradient(g16, x16); dw = cast(dw16)
//   after:  dw = weights_gradient+cast(g16, x16)
//
// So it is for a sum, such as the gradient of a bias, which floats of 16 bits
// may not hold; a reshape may be between the two.
//
// The gradient of a convolution, summed over all but the channels, is the
// gradient of its bias; what computes the gradient of the weights reads it
// anyway.
//
// What follows a batch normalisation is computed along with it, and in the
// gradient what comes before:
//
//   before: n = norm(x); s = n + r; y = relu(s)
//   after:  y = norm+add+relu(x, r)
//
//   before: g = g1 + g2; gs = relu_gradient(g, y); dx = norm_gradient(gs, x)
//   after:  gs, dx = add+relu_gradient+norm_gradient(g1, g2, y, x)
//
// Legal when nothing else reads n and s, or g. The sum is optional; so is ReLU
// in the forward phase. gs is stored only if another node reads it too, such as
// a residual sum's gradient. Only then is g fused: storing gs makes up for
// reading g1 and g2 twice. A unit runs at the position of its first node, so
// all that its nodes read must exist there: r must be computed before norm.
//
// The gradient of a normalization reads x and its statistics, from which it can
// compute the result again. So an activation behind it needs no result in
// memory for its own gradient, which the norm's computes along with it:
//
//   before: n = norm(x); y = silu(n); ...; gn = silu_gradient(gy, n)
//           dx = norm_gradient(gn, x)
//   after:  y = norm+silu(x); ...; dx = silu_gradient+norm_gradient(gy, x)
//
// Other nodes are computed by the node that reads them, at its position:
// element-wise ones (expression.h), and gradients that join their update
// (compiler/joined_gradients.h).
#pragma once

#include <functional>
#include <vector>

#include "graph/program.h"

namespace traingraph {

/// By value: the nodes that read it, once for each of their inputs.
using Readers = std::vector<std::vector<NodeId>>;
Readers find_readers(const Program& program);

/// By node.
struct Fusions {
  std::vector<NodeId> next;    // the later node that is fused with it; -1: none
  std::vector<NodeId> leader;  // whose kernel computes it and the next ones
  std::vector<NodeId> reader;  // that computes it on its way; -1: none
};

/// Fuses nodes pair by pair. Values of `is_kept` are read by the host: they are
/// not fused away. Nodes that are fused already are left alone.
class FusionSearch {
 public:
  FusionSearch(const Program& program, const Readers& readers,
               const std::vector<bool>& is_kept, bool separates_updates);

  const Program& program() const { return program_; }
  const std::vector<NodeId>& readers(ValueId value) const {
    return readers_[value];
  }
  bool is_kept(ValueId value) const { return is_kept_[value]; }
  /// May updates be left out one by one?
  bool separates_updates() const { return separates_updates_; }

  /// The activation behind a product; false: there is none.
  bool join_activation(NodeId product);
  /// The cast to float32 behind a node of 16 bits; false: there is none.
  bool join_cast(NodeId id);
  /// The cast behind a sum, and the reshape before it.
  void join_cast_of_sum(NodeId sum);
  /// Behind a weights gradient of a convolution: the cast of it, and the
  /// gradient of the bias with its reshape and cast.
  void join_bias_gradient(NodeId weights);
  /// Behind a batch normalization: a sum, ReLU, or both.
  void join_followers(NodeId norm);
  /// Before the gradient of one: ReLU's gradient, and a sum before that. The
  /// norm's gradient leads.
  void join_predecessors(NodeId norm);
  /// Behind a normalization that is not fused yet: an activation that `accepts`
  /// takes; and before the norm's gradient, which leads, the activation's.
  void join_activation_again(
      NodeId norm, const std::function<bool(const ActivationAttrs&)>& accepts);

  /// Fuses all of these, of one phase, at the position of the first; the last
  /// one leads.
  void join_all(std::vector<NodeId> nodes);

  /// Has `reader` compute the node of `value` on its way; false: that is not
  /// legal, as where others read it.
  bool join_producer(ValueId value, NodeId reader);
  /// Is the node fused with none, but for those that it computes on its way?
  bool is_free(NodeId id) const {
    return !is_taken_[id] && fusions_.next[id] < 0 && fusions_.reader[id] < 0;
  }
  /// The node whose unit computes node `id` on its way; itself: none does.
  NodeId computed_by(NodeId id) const {
    return fusions_.reader[id] < 0 ? id : computed_by(fusions_.reader[id]);
  }
  /// Is it in memory at node `id` and later, whoever else reads it?
  bool outlives(ValueId value, NodeId id) const;
  /// Does a node between the two, without them, change this variable?
  bool changes_between(ValueId value, NodeId first, NodeId last) const;

  Fusions take() && { return std::move(fusions_); }

 private:
  const Node& node(NodeId id) const { return program_.node(id); }
  bool join(NodeId id, NodeId other);
  NodeId only_reader(ValueId value) const;
  NodeId free_producer(ValueId value) const;
  NodeId find_activation(ValueId value) const;
  NodeId find_gradient(NodeId activation) const;
  bool computes_again(NodeId norm_gradient, NodeId norm,
                      ValueId incoming) const;
  NodeId find_cast(NodeId id) const;
  bool is_relu(NodeId id, OpKind kind) const;
  bool is_sum_of_equals(NodeId id) const;
  bool can_run_at(NodeId at, NodeId id, ValueId value) const;

  const Program& program_;
  const Readers& readers_;
  const std::vector<bool>& is_kept_;
  const bool separates_updates_;
  Fusions fusions_;
  std::vector<bool> is_taken_;
};

/// Can its gradient be computed from its result alone?
bool has_gradient_of_result(const ActivationAttrs& attrs);

}  // namespace traingraph
