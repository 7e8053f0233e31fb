// SPDX-License-Identifier: MIT
// A recurrent op step by step, of plain ops: for lengths, activations with
// parameters and peepholes that read the new cell. The walk over the steps is
// written once; a cell says what one of them computes.
#pragma once

#include <span>
#include <vector>

#import "metal/ops/rnn.h"

namespace traingraph::metal {

/// The state of a step; only an LSTM has a cell.
struct RnnState {
  T h = nil, c = nil;
};

/// What a step sends back.
struct RnnStepGradient {
  T gates = nil;    // of the gates' arguments, in blocks
  T weights = nil;  // of the recurrent weights
  T product = nil;  // of what products multiplied: the state times the mask
  T direct = nil;   // of the state before, past the products; may be nil
  T cell = nil;     // of the cell before
};

/// What cells share. Steps are joined in their own order, whatever the one they
/// are done in.
class UnrolledCell : protected RnnNode {
 public:
  explicit UnrolledCell(GraphBuilder& b);
  virtual ~UnrolledCell() = default;
  void run();
  void run_gradient();

 protected:
  using GateList = std::vector<T>;  // in the order of the formulas

  /// The step that is done as the i-th, from its x; sets what is saved of the
  /// gates.
  virtual RnnState compute(T x, const RnnState& before, GateList& saved) = 0;
  /// The state of a step, from what the forward op saved.
  virtual T state_at(std::int64_t step) = 0;
  /// The gradients of the i-th step, from those of its state.
  virtual RnnStepGradient differentiate(std::int64_t i, const RnnState& d) = 0;
  /// Sets what else the op gives.
  virtual void finish_gradient() {}

  /// The i-th step that is done.
  std::int64_t at(std::int64_t i) const {
    return is_reverse_ ? size_.steps - 1 - i : i;
  }
  T step_of(T x, std::int64_t step);
  T step_of(Operand operand, std::int64_t step) {
    return step_of(input(operand), step);
  }
  /// Nil when it is absent.
  T step_gradient(Operand operand, std::int64_t step);
  /// The block of gate q on the last axis.
  T gate_of(T x, int q);
  T join_gates(const GateList& gates);
  T join(std::span<const T> blocks, int axis);

  /// Samples that take part in a step; nil: all do.
  T has_step(std::int64_t step);
  T where(T condition, T x, T other) {
    return condition ? b_.select(condition, x, other) : x;
  }
  T where(T condition, T x) {
    return condition ? b_.select(condition, x, 0.0) : x;
  }
  /// x of the step before the i-th, or the initial one for samples without.
  template <class Get>
  T before(std::int64_t i, Operand initial, Get get) {
    T first = input_or_zeros(initial);
    if (i == 0) return first;
    const std::int64_t step = at(i - 1);
    return where(has_step(step), get(step), first);
  }
  T state_before(std::int64_t i) {
    return before(i, Operand::InitialState,
                  [this](std::int64_t step) { return state_at(step); });
  }

  T product(T x, T y);
  T masked(T x) { return mask_ ? b_.mul(x, mask_) : x; }
  /// Either tensor may be nil.
  T sum(T x, T y) { return !x ? y : !y ? x : b_.add(x, y); }

  /// f(u) of gate q, and what is saved of it.
  T run_gate(int q, T u, GateList& saved);
  /// The value of gate q is part of what the forward op saved of a step.
  T value_of(int q, T saved);
  /// The gradient of the argument of gate q, from that of its result.
  T gate_gradient(int q, std::int64_t step, T saved, T d);
  /// One product serves all gates.
  RnnStepGradient with_product(std::int64_t i, T gates);

  bool saves_value(int q) const {
    return saves_values_ && has_slope_of_result(f_[q]);
  }
  T slope_of(int q, T saved);
  DataType type() const { return b_.compute_type(); }

  const std::vector<ActivationAttrs> f_;
  const std::vector<int> blocks_;
  const bool is_reverse_;
  bool saves_values_ = true;  // where slopes follow from them
  T mask_, lengths_;
};

}  // namespace traingraph::metal
