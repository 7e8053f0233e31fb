// SPDX-License-Identifier: MIT
// The recurrent ops on MPSGraph: by its own LSTM, GRU and single gate where
// these mean the same, else composed step by step.
#pragma once

#import "metal/graph_builder.h"
#include "ops/rnn_gates.h"
#include "ops/rnn_ops.h"

namespace traingraph::metal {

using rnn::Operand;

/// The builder's node, with its operands by name.
class RnnNode {
 public:
  explicit RnnNode(GraphBuilder& b);

  bool has(Operand operand, bool is_gradient = false) const;
  /// Nil when it is absent.
  T input(Operand operand, bool is_gradient = false);
  T input_or_zeros(Operand operand, bool is_gradient = false);
  /// Does a gradient op give the gradient of the operand?
  bool differentiates(Operand operand) const {
    return op_.result(operand, true) >= 0;
  }
  /// Sets a result, of a gradient op the operand's gradient, as the shape wants
  /// it; nothing where the op has no such result.
  void set(T x, Operand operand);
  Shape shape(Operand operand) const {
    return rnn::shape_of(operand, size_, op_.num_gates);
  }
  const Attributes& attrs() const { return b_.node().attrs; }

 protected:
  T zeros(const Shape& shape);
  /// x itself where it has the shape.
  T reshaped(T x, const Shape& shape);
  /// `count` blocks of the hidden size on an axis.
  T blocks_of(T x, int axis, std::int64_t first, std::int64_t count = 1);

  GraphBuilder& b_;
  const rnn::Op& op_;
  const rnn::Sizes size_;
};

/// Composes the node step by step, of plain ops.
void compose_rnn(GraphBuilder& b);

}  // namespace traingraph::metal
