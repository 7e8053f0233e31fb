// SPDX-License-Identifier: MIT
// What the cells compute in a step, of plain ops.
#import "metal/ops/elementwise_activation.h"
#import "metal/ops/layout_moves.h"
#import "metal/ops/rnn_unrolled.h"

namespace traingraph::metal {
namespace {

using enum Operand;

class LstmCell : public UnrolledCell {
 public:
  explicit LstmCell(GraphBuilder& b)
      : UnrolledCell(b),
        cell_(f_.back()),
        peephole_(input(Peephole)),
        reads_new_(b.attrs<LstmAttrs>().output_peephole_reads_new_cell) {}

 private:
  RnnState compute(T u, const RnnState& before, GateList& saved) override {
    if (!weights_) weights_ = b_.transpose_matrix(input(Weights));
    u = b_.add(u, product(masked(before.h), weights_));
    GateList value(kNumLstmGates);
    T c = nil;
    for (int q : {kInputGate, kForgetGate, kCellGate, kOutputGate}) {
      if (q == kOutputGate) {
        c = b_.add(b_.mul(value[kForgetGate], before.c),
                   b_.mul(value[kInputGate], value[kCellGate]));
      }
      T x = gate_of(u, q);
      if (peephole_) {
        x = b_.add(x, b_.mul(peephole(q), reads_new(q) ? c : before.c));
      }
      value[q] = run_gate(q, x, saved);
    }
    return {b_.mul(value[kOutputGate], activation_value(b_, cell_, c)), c};
  }

  T state_at(std::int64_t step) override {
    T c = step_of(Cells, step);
    return b_.mul(value_of(kOutputGate, step_of(Operand::Gates, step)),
                  activation_value(b_, cell_, c));
  }

  RnnStepGradient differentiate(std::int64_t i, const RnnState& d) override {
    const std::int64_t step = at(i);
    T saved = step_of(Operand::Gates, step), c = step_of(Cells, step);
    T old = cell_before(i);
    GateList value, a(kNumLstmGates);
    for (int q = 0; q < kNumLstmGates; ++q) value.push_back(value_of(q, saved));
    a[kOutputGate] = gate_gradient(kOutputGate, step, saved,
                                   b_.mul(d.h, activation_value(b_, cell_, c)));
    T slope = activation_slope(b_, cell_, c);
    T dc = b_.add(d.c, b_.mul(b_.mul(d.h, value[kOutputGate]), slope));
    dc = sum(dc, step_gradient(Cells, step));
    if (peephole_ && reads_new_) {
      dc = b_.add(dc, b_.mul(peephole(kOutputGate), a[kOutputGate]));
    }
    const auto gate = [&](int q, T factor) {
      a[q] = gate_gradient(q, step, saved, b_.mul(dc, factor));
    };
    gate(kInputGate, value[kCellGate]);
    gate(kForgetGate, old);
    gate(kCellGate, value[kInputGate]);
    T carry = b_.mul(dc, value[kForgetGate]);
    for (int q = 0; peephole_ && q < kNumLstmGates; ++q) {
      if (!reads_new(q)) carry = b_.add(carry, b_.mul(peephole(q), a[q]));
    }
    RnnStepGradient back = with_product(i, join_gates(a));
    back.cell = carry;
    add_peephole(back.gates, c, old);
    return back;
  }

  void finish_gradient() override { set(dpeephole_, Peephole); }

  bool reads_new(int q) const { return q == kOutputGate && reads_new_; }
  T peephole(int q) {
    return b_.reshape(gate_of(peephole_, q), {1, size_.hidden});
  }
  T cell_before(std::int64_t i) {
    return before(i, InitialCell,
                  [this](std::int64_t step) { return step_of(Cells, step); });
  }
  void add_peephole(T a, T c, T old) {
    GateList parts;
    for (int q = 0; q < kNumLstmGates; ++q) {
      parts.push_back(b_.sum(b_.mul(gate_of(a, q), reads_new(q) ? c : old),
                             shape(InitialCell), {0}));
    }
    dpeephole_ = sum(dpeephole_, join_gates(parts));
  }

  const ActivationAttrs cell_;
  T peephole_, weights_ = nil, dpeephole_ = nil;
  const bool reads_new_;
};

class GruCell : public UnrolledCell {
 public:
  explicit GruCell(GraphBuilder& b)
      : UnrolledCell(b), options_(b.attrs<GruAttrs>()) {
    if (has(SecondaryBias)) {
      bias_ = b.reshape(input(SecondaryBias), {1, size_.hidden});
    }
  }

 private:
  RnnState compute(T x, const RnnState& before, GateList& saved) override {
    if (!weights_) weights_ = b_.transpose_matrix(input(Weights));
    T k = masked(before.h);
    T u = product(k, weights_);
    const auto argument = [&](int q) {
      return b_.add(gate_of(x, q), gate_of(u, q));
    };
    T z = run_gate(kUpdateGate, argument(kUpdateGate), saved);
    T r = run_gate(kResetGate, argument(kResetGate), saved);
    T c = options_.reset_after
              ? b_.mul(sum(gate_of(u, kCandidate), bias_), r)
              : product(b_.mul(k, r), gate_of(weights_, kCandidate));
    T o = run_gate(kCandidate, b_.add(gate_of(x, kCandidate), c), saved);
    T share = kept(z);
    return {b_.add(b_.mul(share, before.h), b_.mul(b_.sub(1.0, share), o))};
  }

  T state_at(std::int64_t step) override { return step_of(Hidden, step); }

  RnnStepGradient differentiate(std::int64_t i, const RnnState& d) override {
    const std::int64_t step = at(i);
    T takes_part = has_step(step);
    T saved = step_of(Operand::Gates, step);
    T z = value_of(kUpdateGate, saved), r = value_of(kResetGate, saved),
      o = value_of(kCandidate, saved);
    T h = state_before(i);
    T k = masked(h);
    T share = kept(z);
    T difference = options_.flip_z ? b_.sub(o, h) : b_.sub(h, o);
    GateList a(kNumGruGates);
    const auto finish = [&](int q, T dq) {
      a[q] = where(takes_part, gate_gradient(q, step, saved, dq));
    };
    finish(kUpdateGate, b_.mul(d.h, difference));
    finish(kCandidate, b_.mul(d.h, b_.sub(1.0, share)));
    T weights = blocks_of(input(Weights), 0, kCandidate);
    // The gradients of what the candidate's product gave, and of what it
    // multiplied.
    T candidate = a[kCandidate], multiplied = k, dk = nil;
    if (options_.reset_after) {
      T u = sum(product(k, b_.transpose_matrix(weights)), bias_);
      finish(kResetGate, b_.mul(candidate, u));
      candidate = b_.mul(candidate, r);
      dbias_ = sum(dbias_, b_.sum(candidate, shape(InitialState), {0}));
      dk = product(candidate, weights);
    } else {
      T v = product(candidate, weights);
      finish(kResetGate, b_.mul(v, k));
      multiplied = b_.mul(k, r);
      dk = b_.mul(v, r);
    }
    // Blocks of the two gates, in their order.
    GateList two(2);
    for (int q : {kUpdateGate, kResetGate}) two[blocks_[q]] = a[q];
    T both = join(two, 1);
    NSMutableArray<MPSGraphTensor*>* dweights = [NSMutableArray array];
    [dweights addObject:product(b_.transpose_matrix(both), k)];
    [dweights addObject:product(b_.transpose_matrix(candidate), multiplied)];
    return {.gates = join_gates(a),
            .weights = concatenate(b_, dweights, 0),
            .product =
                b_.add(dk, product(both, blocks_of(input(Weights), 0, 0, 2))),
            .direct = b_.mul(d.h, share)};
  }

  void finish_gradient() override {
    set(dbias_ ? dbias_
               : b_.broadcast(b_.scalar(0, type()), shape(SecondaryBias)),
        SecondaryBias);
  }

  /// The share of the state before.
  T kept(T z) { return options_.flip_z ? b_.sub(1.0, z) : z; }

  const GruAttrs options_;
  T bias_ = nil, weights_ = nil, dbias_ = nil;
};

/// Saves always the argument.
class SingleGateCell : public UnrolledCell {
 public:
  explicit SingleGateCell(GraphBuilder& b) : UnrolledCell(b) {
    saves_values_ = false;
  }

 private:
  RnnState compute(T x, const RnnState& before, GateList& saved) override {
    if (!weights_) weights_ = b_.transpose_matrix(input(Weights));
    T u = b_.add(x, product(masked(before.h), weights_));
    return {run_gate(0, u, saved)};
  }
  T state_at(std::int64_t step) override {
    return value_of(0, step_of(Operand::Gates, step));
  }
  RnnStepGradient differentiate(std::int64_t i, const RnnState& d) override {
    T saved = step_of(Operand::Gates, at(i));
    return with_product(i, gate_gradient(0, at(i), saved, d.h));
  }

  T weights_ = nil;
};

template <class Cell>
void compose(GraphBuilder& b) {
  Cell cell(b);
  if (rnn::op_of(b.node().op->kind).is_gradient()) return cell.run_gradient();
  cell.run();
}

}  // namespace

void compose_rnn(GraphBuilder& b) {
  const Attributes& attrs = b.node().attrs;
  if (std::holds_alternative<LstmAttrs>(attrs)) return compose<LstmCell>(b);
  if (std::holds_alternative<GruAttrs>(attrs)) return compose<GruCell>(b);
  compose<SingleGateCell>(b);
}

}  // namespace traingraph::metal
