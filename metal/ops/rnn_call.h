// SPDX-License-Identifier: MIT
// A call of MPSGraph's recurrent ops: for one node, or for two that are the
// directions of one.
#pragma once

#include <optional>

#import "metal/ops/rnn.h"
#include "metal/ops/rnn_pair.h"

namespace traingraph::metal {

class RnnCall {
 public:
  /// `weights`: the recurrent ones, among the inputs.
  RnnCall(GraphBuilder& b, const Shape& gates, int weights, bool is_reverse);

  /// Both directions: then the call also gives what the node of the other one
  /// gave, and that one's own call is read by nobody, so that MPSGraph drops
  /// it.
  BOOL has_both() const { return pair_ ? YES : NO; }
  BOOL is_reverse() const { return pair_ ? NO : is_reverse_; }

  /// What the call gets: nil when the input is absent.
  T input(int i);
  T input_or_zeros(int i, const Shape& of_one_direction);

  /// Runs f(direction) with each node as the builder's.
  template <class F>
  void for_each_node(F f) {
    if (!pair_) return f(0);
    b_.begin(pair_->forward);
    f(0);
    b_.begin(own_);
    f(1);
  }
  /// A direction's own of what the call gave.
  T part(T x, int direction);
  T part_of_weights(T x, int direction, const Shape& weights);
  /// Of one direction's states, the ones after all steps.
  T last_row(T states, bool is_reverse) {
    return row_of(b_, states, size_, is_reverse ? 0 : size_.steps - 1);
  }
  /// Of an LSTM: one axis.
  Shape peephole_shape() const { return {(pair_ ? 8 : 4) * size_.hidden}; }
  /// Of one direction.
  const RnnSize& size() const { return size_; }

 private:
  GraphBuilder& b_;
  const int weights_;
  const NodeId own_;
  RnnSize size_;
  const BOOL is_reverse_;
  std::optional<RnnPair> pair_;
};

}  // namespace traingraph::metal
