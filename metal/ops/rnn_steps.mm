// SPDX-License-Identifier: MIT
// lstm and lstm_gradient step by step, of plain ops: for lengths, activations
// with parameters and peepholes that read the new cell.
#import "metal/ops/rnn.h"

#include <array>

#import "metal/ops/elementwise_activation.h"
#import "metal/ops/rnn_unrolled.h"
#include "ops/rnn_gates.h"

namespace traingraph::metal {
namespace {

using Gates = std::array<T, kNumLstmGates>;

/// What both directions of time share.
class Steps : protected UnrolledSteps {
 public:
  Steps(GraphBuilder& b, const RnnSize& size, int peephole, int mask,
        int lengths)
      : UnrolledSteps(b, size, b.attrs<LstmAttrs>().reverse, mask, lengths),
        attrs_(b.attrs<LstmAttrs>()),
        f_(lstm_gates(attrs_)),
        cell_(lstm_activation(attrs_)),
        blocks_(lstm_blocks(attrs_)),
        peephole_(b.has(peephole) ? b.input(peephole) : nil) {}

 protected:
  /// The block of gate q on the last axis.
  T gate_of(T x, int q) { return block_of(x, blocks_[q]); }
  T peephole(int q) {
    return b_.reshape(gate_of(peephole_, q), {1, size_.hidden});
  }
  T join_gates(const Gates& gates) {
    Gates blocks;
    for (int q = 0; q < kNumLstmGates; ++q) blocks[blocks_[q]] = gates[q];
    return join_blocks(blocks);
  }

  const LstmAttrs attrs_;
  const std::array<ActivationAttrs, kNumLstmGates> f_;
  const ActivationAttrs cell_;
  const std::array<int, kNumLstmGates> blocks_;
  T peephole_;
};

class Forward : Steps {
 public:
  using In = LstmInput;
  using Out = LstmResult;

  explicit Forward(GraphBuilder& b)
      : Steps(b, rnn_size(b.input_shape(In::X), b.input_shape(In::Weights)),
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
    b_.set(join_steps(gates, size_.gates(kNumLstmGates)), Out::Gates);
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
      : Steps(b, rnn_size(b.input_shape(In::Gates), b.input_shape(In::Weights)),
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
    b_.set(join_steps(dx, size_.gates(kNumLstmGates)), Out::X);
    b_.set(dweights_, Out::Weights);
    b_.set(b_.reshape(dpeephole_, {4 * size_.hidden}), Out::Peephole);
    b_.set(dh, Out::State);
    b_.set(dc, Out::Cell);
    b_.set(dmask_, Out::Mask);
  }

 private:
  /// Of the argument of gate q, from that of its result.
  T finish(int q, std::int64_t step, T saved, T d) {
    T all = step_of(In::GatesGradient, step);
    return gate_gradient(f_[q], saved, d, all ? gate_of(all, q) : nil);
  }
  T value_of(int q, T saved) { return saved_value(f_[q], saved); }

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
