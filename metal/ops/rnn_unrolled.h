// SPDX-License-Identifier: MIT
// A recurrent op step by step, of plain ops: what the cells share.
#pragma once

#include <span>
#include <vector>

#import "metal/ops/rnn.h"

namespace traingraph::metal {

/// Steps are joined in their own order, whatever the one they are done in.
class UnrolledSteps {
 public:
  UnrolledSteps(GraphBuilder& b, const RnnSize& size, bool is_reverse, int mask,
                int lengths);

 protected:
  /// The i-th step that is done.
  std::int64_t at(std::int64_t i) const {
    return is_reverse_ ? size_.steps - 1 - i : i;
  }
  T step_of(T x, std::int64_t step);
  T step_of(int input, std::int64_t step) {
    return b_.has(input) ? step_of(b_.input(input), step) : nil;
  }
  /// `count` blocks of the hidden size on the last axis.
  T block_of(T x, std::int64_t block, std::int64_t count = 1);
  /// Rows of the weights.
  T rows_of(T weights, std::int64_t block, std::int64_t count = 1);
  T join_blocks(std::span<const T> blocks);
  T join_steps(const std::vector<T>& steps, const Shape& shape);

  /// Samples that take part in a step; nil: all do.
  T has_step(std::int64_t step);
  T where(T condition, T x, T other) {
    return condition ? b_.select(condition, x, other) : x;
  }
  T where(T condition, T x) {
    return condition ? b_.select(condition, x, 0.0) : x;
  }
  /// x of the step before the i-th, or `first` for samples without one.
  template <class Get>
  T before(std::int64_t i, T first, Get get) {
    if (i == 0) return first;
    const std::int64_t step = at(i - 1);
    return where(has_step(step), get(step), first);
  }

  T product(T x, T y);
  T masked(T x) { return mask_ ? b_.mul(x, mask_) : x; }
  /// Of two tensors that may be nil.
  T sum(T x, T y) { return !x ? y : !y ? x : b_.add(x, y); }

  /// From what the forward op saved of a gate.
  T saved_value(const ActivationAttrs& f, T saved);
  T saved_slope(const ActivationAttrs& f, T saved);
  /// Of the argument of a gate, from that of its result and, which may be nil,
  /// that of what was saved.
  T gate_gradient(const ActivationAttrs& f, T saved, T d, T more);
  DataType type() const { return b_.compute_type(); }

  GraphBuilder& b_;
  const RnnSize size_;
  const bool is_reverse_;
  T mask_, lengths_;
};

}  // namespace traingraph::metal
