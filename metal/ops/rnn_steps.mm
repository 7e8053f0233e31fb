// SPDX-License-Identifier: MIT
// lstm and lstm_gradient step by step, of plain ops: for lengths, activations
// with parameters and peepholes that read the new cell.
#import "metal/ops/rnn.h"

#include <array>

#import "metal/ops/elementwise_activation.h"
#import "metal/ops/layout_moves.h"
#include "ops/rnn_gates.h"

namespace traingraph::metal {
namespace {

using Gates = std::array<T, kNumLstmGates>;

/// What both directions of time share. Steps are joined in their own order.
class Steps {
 public:
  Steps(GraphBuilder& b, const LstmSize& size, int peephole, int mask,
        int lengths)
      : b_(b),
        attrs_(b.attrs<LstmAttrs>()),
        f_(lstm_gates(attrs_)),
        cell_(lstm_activation(attrs_)),
        blocks_(lstm_blocks(attrs_)),
        size_(size),
        peephole_(b.has(peephole) ? b.input(peephole) : nil),
        mask_(b.has(mask) ? b.input(mask) : nil),
        lengths_(b.has(lengths) ? b.input(lengths) : nil) {}

 protected:
  /// The i-th step that is done.
  std::int64_t at(std::int64_t i) const {
    return attrs_.reverse ? size_.steps - 1 - i : i;
  }
  T step_of(T x, std::int64_t step) {
    const Shape shape{size_.samples, [[[x shape] lastObject] longLongValue]};
    return b_.reshape(slice_axis(b_, x, 0, step, 1), shape);
  }
  T step_of(int input, std::int64_t step) {
    return b_.has(input) ? step_of(b_.input(input), step) : nil;
  }
  /// The block of gate q on the last axis.
  T gate_of(T x, int q) {
    const auto axis = static_cast<int>([[x shape] count]) - 1;
    return slice_axis(b_, x, axis, blocks_[q] * size_.hidden, size_.hidden);
  }
  T peephole(int q) {
    return b_.reshape(gate_of(peephole_, q), {1, size_.hidden});
  }
  T join_gates(const Gates& gates) {
    NSMutableArray<MPSGraphTensor*>* parts = [NSMutableArray array];
    for (int block = 0; block < kNumLstmGates; ++block) {
      for (int q = 0; q < kNumLstmGates; ++q) {
        if (blocks_[q] == block) [parts addObject:gates[q]];
      }
    }
    return concatenate(b_, parts, 1);
  }
  T join_steps(const std::vector<T>& steps, const Shape& shape) {
    NSMutableArray<MPSGraphTensor*>* parts = [NSMutableArray array];
    for (T step : steps) {
      [parts addObject:b_.reshape(step, {1, shape[1], shape[2]})];
    }
    return concatenate(b_, parts, 0);
  }
  /// Samples that take part in a step; nil: all do.
  T has_step(std::int64_t step) {
    if (!lengths_) return nil;
    T later = b_.greater(lengths_, static_cast<double>(step));
    return b_.reshape(later, {size_.samples, 1});
  }
  T where(T condition, T x, T other) {
    return condition ? b_.select(condition, x, other) : x;
  }
  T where(T condition, T x) {
    return condition ? b_.select(condition, x, 0.0) : x;
  }
  T product(T x, T y) {
    return [b_.graph() matrixMultiplicationWithPrimaryTensor:x
                                             secondaryTensor:y
                                                        name:b_.name()];
  }
  T masked(T x) { return mask_ ? b_.mul(x, mask_) : x; }
  /// Of two tensors that may be nil.
  T sum(T x, T y) { return !x ? y : !y ? x : b_.add(x, y); }

  GraphBuilder& b_;
  const LstmAttrs attrs_;
  const std::array<ActivationAttrs, kNumLstmGates> f_;
  const ActivationAttrs cell_;
  const std::array<int, kNumLstmGates> blocks_;
  const LstmSize size_;
  T peephole_, mask_, lengths_;
};

class Forward : Steps {
 public:
  using In = LstmInput;
  using Out = LstmResult;

  explicit Forward(GraphBuilder& b)
      : Steps(b, lstm_size(b.input_shape(In::X), b.input_shape(In::Weights)),
              In::Peephole, In::Mask, In::Lengths) {}

  void run() {
    T weights = b_.transpose_matrix(b_.input(In::Weights));
    T h = input_or_zeros(b_, In::State, size_.state());
    T c = input_or_zeros(b_, In::Cell, size_.state());
    const auto count = static_cast<std::size_t>(size_.steps);
    std::vector<T> hidden(count), cells(count), gates(count);
    for (std::int64_t i = 0; i < size_.steps; ++i) {
      const std::int64_t step = at(i);
      T u = step_of(b_.input(In::X), step);
      if (i > 0 || b_.has(In::State)) {
        u = b_.add(u, product(masked(h), weights));
      }
      Gates saved;
      const auto [new_h, new_c] = compute(u, c, saved);
      T takes_part = has_step(step);
      const auto s = static_cast<std::size_t>(step);
      hidden[s] = where(takes_part, new_h);
      cells[s] = where(takes_part, new_c);
      gates[s] = where(takes_part, join_gates(saved));
      h = where(takes_part, new_h, h);
      c = where(takes_part, new_c, c);
    }
    b_.set(join_steps(hidden, size_.states()), Out::Hidden);
    b_.set(join_steps(cells, size_.states()), Out::Cells);
    b_.set(join_steps(gates, size_.gates()), Out::Gates);
    b_.set(h, Out::LastHidden);
    b_.set(c, Out::LastCell);
  }

 private:
  std::pair<T, T> compute(T u, T old, Gates& saved) {
    Gates value;
    T c = nil;
    for (int q : {kInputGate, kForgetGate, kCellGate, kOutputGate}) {
      if (q == kOutputGate) {
        c = b_.add(b_.mul(value[kForgetGate], old),
                   b_.mul(value[kInputGate], value[kCellGate]));
      }
      T x = gate_of(u, q);
      if (peephole_) {
        const bool reads_new =
            q == kOutputGate && attrs_.output_peephole_reads_new_cell;
        x = b_.add(x, b_.mul(peephole(q), reads_new ? c : old));
      }
      value[q] = activation_value(b_, f_[q], x);
      saved[q] = has_slope_of_result(f_[q]) ? value[q] : x;
    }
    return {b_.mul(value[kOutputGate], activation_value(b_, cell_, c)), c};
  }
};

class Backward : Steps {
 public:
  using In = LstmGradientInput;
  using Out = LstmGradientResult;

  explicit Backward(GraphBuilder& b)
      : Steps(b,
              lstm_size(b.input_shape(In::Gates), b.input_shape(In::Weights)),
              In::Peephole, In::Mask, In::Lengths) {}

  void run() {
    T dh = input_or_zeros(b_, In::LastHiddenGradient, size_.state());
    T dc = input_or_zeros(b_, In::LastCellGradient, size_.state());
    std::vector<T> dx(static_cast<std::size_t>(size_.steps));
    for (std::int64_t i = size_.steps - 1; i >= 0; --i) {
      const std::int64_t step = at(i);
      T takes_part = has_step(step);
      T total = sum(dh, step_of(In::HiddenGradient, step));
      T carry = nil;
      T a = where(takes_part, gates_gradient(i, total, dc, carry));
      dx[static_cast<std::size_t>(step)] = a;
      dc = where(takes_part, carry, dc);
      T before = state_before(i);
      T da = product(a, b_.input(In::Weights));
      dh = where(takes_part, masked(da), dh);
      dmask_ = sum(dmask_, b_.mul(da, before));
      dweights_ =
          sum(dweights_, product(b_.transpose_matrix(a), masked(before)));
      add_peephole(i, a);
    }
    b_.set(join_steps(dx, size_.gates()), Out::X);
    b_.set(dweights_, Out::Weights);
    b_.set(b_.reshape(dpeephole_, {4 * size_.hidden}), Out::Peephole);
    b_.set(dh, Out::State);
    b_.set(dc, Out::Cell);
    b_.set(dmask_, Out::Mask);
  }

 private:
  T value_of(int q, T saved) {
    return has_slope_of_result(f_[q]) ? saved
                                      : activation_value(b_, f_[q], saved);
  }
  T slope_of(int q, T saved) {
    const ActivationAttrs& f = f_[q];
    if (!has_slope_of_result(f)) return activation_slope(b_, f, saved);
    switch (f.type) {
      case ActivationType::Sigmoid:
        return b_.mul(saved, b_.sub(1.0, saved));
      case ActivationType::Tanh:
        return b_.mul(b_.sub(f.a, b_.div(b_.square(saved), f.a)), f.b);
      case ActivationType::HardSigmoid:
        return b_.select(b_.both(b_.greater(saved, 0.0), b_.less(saved, 1.0)),
                         f.a, 0.0, type());
      case ActivationType::ReLU:
        return b_.select(b_.greater(saved, 0.0), 1.0, f.a, type());
      default:
        return b_.scalar(f.type == ActivationType::Linear ? f.a : 1, type());
    }
  }
  DataType type() const { return b_.result_desc().data_type; }

  /// Of the argument of gate q, from that of its result.
  T finish(int q, std::int64_t step, T saved, T d) {
    T all = step_of(In::GatesGradient, step);
    T more = all ? gate_of(all, q) : nil;
    if (!has_slope_of_result(f_[q])) {
      return sum(b_.mul(d, slope_of(q, saved)), more);
    }
    return b_.mul(sum(d, more), slope_of(q, saved));
  }

  /// `carry`: of the cell before.
  T gates_gradient(std::int64_t i, T dh, T dc, T& carry) {
    const std::int64_t step = at(i);
    T saved = step_of(b_.input(In::Gates), step);
    Gates z, value, a;
    for (int q = 0; q < kNumLstmGates; ++q) {
      z[q] = gate_of(saved, q);
      value[q] = value_of(q, z[q]);
    }
    T c = step_of(b_.input(In::Cells), step);
    const bool reads_new = attrs_.output_peephole_reads_new_cell;
    a[kOutputGate] = finish(kOutputGate, step, z[kOutputGate],
                            b_.mul(dh, activation_value(b_, cell_, c)));
    T slope = activation_slope(b_, cell_, c);
    dc = b_.add(dc, b_.mul(b_.mul(dh, value[kOutputGate]), slope));
    dc = sum(dc, step_of(In::CellsGradient, step));
    if (peephole_ && reads_new) {
      dc = b_.add(dc, b_.mul(peephole(kOutputGate), a[kOutputGate]));
    }
    const auto gate = [&](int q, T factor) {
      a[q] = finish(q, step, z[q], b_.mul(dc, factor));
    };
    gate(kInputGate, value[kCellGate]);
    gate(kForgetGate, cell_before(i));
    gate(kCellGate, value[kInputGate]);
    carry = b_.mul(dc, value[kForgetGate]);
    for (int q = 0; peephole_ && q < kNumLstmGates; ++q) {
      if (q == kOutputGate && reads_new) continue;
      carry = b_.add(carry, b_.mul(peephole(q), a[q]));
    }
    return join_gates(a);
  }

  /// x of the step before the i-th, or `first` for samples without one.
  template <class Get>
  T before(std::int64_t i, T first, Get get) {
    if (i == 0) return first;
    const std::int64_t step = at(i - 1);
    return where(has_step(step), get(step), first);
  }
  T cell_before(std::int64_t i) {
    return before(
        i, input_or_zeros(b_, In::Cell, size_.state()),
        [&](std::int64_t step) { return step_of(b_.input(In::Cells), step); });
  }
  T state_before(std::int64_t i) {
    return before(i, input_or_zeros(b_, In::State, size_.state()),
                  [&](std::int64_t step) {
                    T saved = gate_of(step_of(b_.input(In::Gates), step),
                                      kOutputGate);
                    T c = step_of(b_.input(In::Cells), step);
                    return b_.mul(value_of(kOutputGate, saved),
                                  activation_value(b_, cell_, c));
                  });
  }

  void add_peephole(std::int64_t i, T a) {
    Gates parts;
    for (int q = 0; q < kNumLstmGates; ++q) {
      const bool reads_new =
          q == kOutputGate && attrs_.output_peephole_reads_new_cell;
      T c = reads_new ? step_of(b_.input(In::Cells), at(i)) : cell_before(i);
      parts[q] =
          b_.sum(b_.mul(gate_of(a, q), c), {size_.samples, size_.hidden}, {0});
    }
    dpeephole_ = sum(dpeephole_, join_gates(parts));
  }

  T dweights_ = nil, dmask_ = nil, dpeephole_ = nil;
};

}  // namespace

void compose_lstm(GraphBuilder& b) { Forward(b).run(); }
void compose_lstm_gradient(GraphBuilder& b) { Backward(b).run(); }

}  // namespace traingraph::metal
