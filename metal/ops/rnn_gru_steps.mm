// SPDX-License-Identifier: MIT
// gru_steps and its gradient step by step, of plain ops: for lengths and
// activations with parameters.
#include <array>

#import "metal/ops/elementwise_activation.h"
#import "metal/ops/layout_moves.h"
#import "metal/ops/rnn_unrolled.h"
#include "ops/rnn_gates.h"

namespace traingraph::metal {
namespace {

using Gates = std::array<T, kNumGruGates>;

class Steps : protected UnrolledSteps {
 public:
  Steps(GraphBuilder& b, const RnnSize& size, int mask, int bias, int lengths)
      : UnrolledSteps(b, size, b.attrs<GruAttrs>().reverse, mask, lengths),
        attrs_(b.attrs<GruAttrs>()),
        f_(gru_gates(attrs_)),
        blocks_(gru_blocks(attrs_)),
        bias_(b.has(bias) ? b.reshape(b.input(bias), {1, size.hidden}) : nil) {}

 protected:
  T gate_of(T x, int q) { return block_of(x, blocks_[q]); }
  T join_gates(const Gates& gates) {
    Gates blocks;
    for (int q = 0; q < kNumGruGates; ++q) blocks[blocks_[q]] = gates[q];
    return join_blocks(blocks);
  }
  /// The share of the state before.
  T kept(T z) { return attrs_.flip_z ? b_.sub(1.0, z) : z; }

  const GruAttrs attrs_;
  const std::array<ActivationAttrs, kNumGruGates> f_;
  const std::array<int, kNumGruGates> blocks_;
  T bias_;
};

class Forward : Steps {
 public:
  using In = GruInput;
  using Out = GruResult;

  explicit Forward(GraphBuilder& b)
      : Steps(b, rnn_size(b.input_shape(In::X), b.input_shape(In::Weights)),
              In::Mask, In::SecondaryBias, In::Lengths) {}

  void run() {
    weights_ = b_.transpose_matrix(b_.input(In::Weights));
    T h = input_or_zeros(b_, In::State, size_.state());
    const auto count = static_cast<std::size_t>(size_.steps);
    std::vector<T> hidden(count), gates(count);
    for (std::int64_t i = 0; i < size_.steps; ++i) {
      const std::int64_t step = at(i);
      Gates saved;
      T next = compute(step_of(b_.input(In::X), step), h, saved);
      T takes_part = has_step(step);
      const auto s = static_cast<std::size_t>(step);
      hidden[s] = where(takes_part, next);
      gates[s] = where(takes_part, join_gates(saved));
      h = where(takes_part, next, h);
    }
    b_.set(join_steps(hidden, size_.states()), Out::Hidden);
    b_.set(join_steps(gates, size_.gates(kNumGruGates)), Out::Gates);
    b_.set(h, Out::LastHidden);
  }

 private:
  T run_gate(int q, T u, Gates& saved) {
    T value = activation_value(b_, f_[q], u);
    saved[q] = has_slope_of_result(f_[q]) ? value : u;
    return value;
  }

  T compute(T x, T h, Gates& saved) {
    T k = masked(h);
    T u = product(k, weights_);
    const auto argument = [&](int q) {
      return b_.add(gate_of(x, q), gate_of(u, q));
    };
    T z = run_gate(kUpdateGate, argument(kUpdateGate), saved);
    T r = run_gate(kResetGate, argument(kResetGate), saved);
    T c = attrs_.reset_after
              ? b_.mul(sum(gate_of(u, kCandidate), bias_), r)
              : product(b_.mul(k, r), block_of(weights_, kCandidate));
    T o = run_gate(kCandidate, b_.add(gate_of(x, kCandidate), c), saved);
    T share = kept(z);
    return b_.add(b_.mul(share, h), b_.mul(b_.sub(1.0, share), o));
  }

  T weights_ = nil;
};

class Backward : Steps {
 public:
  using In = GruGradientInput;
  using Out = GruGradientResult;

  explicit Backward(GraphBuilder& b)
      : Steps(b, rnn_size(b.input_shape(In::Gates), b.input_shape(In::Weights)),
              In::Mask, In::SecondaryBias, In::Lengths) {}

  void run() {
    weights_ = b_.input(In::Weights);
    T dh = input_or_zeros(b_, In::LastHiddenGradient, size_.state());
    std::vector<T> dx(static_cast<std::size_t>(size_.steps));
    for (std::int64_t i = size_.steps - 1; i >= 0; --i) {
      const std::int64_t step = at(i);
      T takes_part = has_step(step);
      T total = sum(dh, step_of(In::HiddenGradient, step));
      T carry = nil;
      dx[static_cast<std::size_t>(step)] =
          where(takes_part, differentiate(i, takes_part, total, carry));
      dh = where(takes_part, carry, dh);
    }
    b_.set(join_steps(dx, size_.gates(kNumGruGates)), Out::X);
    b_.set(dweights_, Out::Weights);
    b_.set(dh, Out::State);
    b_.set(dmask_, Out::Mask);
    T bias = dbias_ ? b_.reshape(dbias_, {size_.hidden})
                    : b_.broadcast(b_.scalar(0, type()), {size_.hidden});
    b_.set(bias, Out::SecondaryBias);
  }

 private:
  T state_before(std::int64_t i) {
    return before(
        i, input_or_zeros(b_, In::State, size_.state()),
        [&](std::int64_t step) { return step_of(b_.input(In::Hidden), step); });
  }

  T finish(int q, std::int64_t step, T saved, T d) {
    T all = step_of(In::GatesGradient, step);
    return gate_gradient(f_[q], gate_of(saved, q), d,
                         all ? gate_of(all, q) : nil);
  }

  /// The gates' gradients; `carry`: that of the state before.
  T differentiate(std::int64_t i, T takes_part, T dh, T& carry) {
    const std::int64_t step = at(i);
    T saved = step_of(b_.input(In::Gates), step);
    const auto value = [&](int q) {
      return saved_value(f_[q], gate_of(saved, q));
    };
    T z = value(kUpdateGate), r = value(kResetGate), o = value(kCandidate);
    T h = state_before(i);
    T k = masked(h);
    T share = kept(z);
    T difference = attrs_.flip_z ? b_.sub(o, h) : b_.sub(h, o);
    Gates a;
    a[kUpdateGate] = finish(kUpdateGate, step, saved, b_.mul(dh, difference));
    a[kCandidate] =
        finish(kCandidate, step, saved, b_.mul(dh, b_.sub(1.0, share)));
    T candidate_weights = rows_of(weights_, kCandidate);
    T dk = nil, candidate_gradient = nil, multiplied = k;
    if (attrs_.reset_after) {
      T u = sum(product(k, b_.transpose_matrix(candidate_weights)), bias_);
      a[kResetGate] = finish(kResetGate, step, saved, b_.mul(a[kCandidate], u));
      candidate_gradient = where(takes_part, b_.mul(a[kCandidate], r));
      dbias_ = sum(dbias_, b_.sum(candidate_gradient, size_.state(), {0}));
      dk = product(candidate_gradient, candidate_weights);
    } else {
      T v = product(where(takes_part, a[kCandidate]), candidate_weights);
      a[kResetGate] = finish(kResetGate, step, saved, b_.mul(v, k));
      candidate_gradient = where(takes_part, a[kCandidate]);
      multiplied = b_.mul(k, r);
      dk = b_.mul(v, r);
    }
    // Blocks of the two gates, in their order.
    Gates blocks;
    for (int q : {kUpdateGate, kResetGate}) {
      blocks[blocks_[q]] = where(takes_part, a[q]);
    }
    T both = join_blocks(std::span(blocks).first(2));
    dk = b_.add(dk, product(both, rows_of(weights_, 0, 2)));
    add_weights(both, k, candidate_gradient, multiplied);
    dmask_ = sum(dmask_, b_.mul(dk, h));
    carry = b_.add(b_.mul(dh, share), masked(dk));
    return join_gates(a);
  }

  void add_weights(T both, T k, T candidate, T multiplied) {
    NSMutableArray<MPSGraphTensor*>* parts = [NSMutableArray array];
    [parts addObject:product(b_.transpose_matrix(both), k)];
    [parts addObject:product(b_.transpose_matrix(candidate), multiplied)];
    dweights_ = sum(dweights_, concatenate(b_, parts, 0));
  }

  T weights_ = nil, dweights_ = nil, dmask_ = nil, dbias_ = nil;
};

}  // namespace

void compose_gru(GraphBuilder& b) { Forward(b).run(); }
void compose_gru_gradient(GraphBuilder& b) { Backward(b).run(); }

}  // namespace traingraph::metal
