// SPDX-License-Identifier: MIT
// A call of MPSGraph's recurrent ops: for one node, or for two that are the
// directions of one.
#pragma once

#include <optional>

#import "metal/ops/rnn.h"
#include "metal/ops/rnn_pair.h"

namespace traingraph::metal {

class RnnCall : public RnnNode {
 public:
  explicit RnnCall(GraphBuilder& b);

  /// Both directions: then the call also gives what the node of the other one
  /// gave, and that one's own call is read by nobody, so that MPSGraph drops
  /// it.
  BOOL has_both() const { return pair_ ? YES : NO; }
  BOOL is_reverse() const { return pair_ ? NO : is_reverse_; }

  // What the call gets; nil when the input is absent.
  T whole(Operand operand, bool is_gradient = false);
  T whole_or_zeros(Operand operand, bool is_gradient = false);

  /// Runs f(direction) with each node as the builder's.
  template <class F>
  void for_each_node(F f) {
    if (!pair_) return f(0);
    b_.begin(pair_->forward);
    f(0);
    b_.begin(own_);
    f(1);
  }
  /// A direction's own of an operand, or of a gradient, that the call gave.
  T part(T x, Operand operand, int direction);
  /// The states after all steps.
  T last_row(T states);
  /// Each step's value of the step before, and `first` for the first step.
  T shifted(T states, T first);
  /// x of all steps times so many blocks of the node's weights, as states.
  T product_of_steps(T x, std::int64_t first, std::int64_t count);

 private:
  const int weights_;
  const NodeId own_;
  const BOOL is_reverse_;
  std::optional<RnnPair> pair_;
};

}  // namespace traingraph::metal
