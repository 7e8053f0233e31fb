// SPDX-License-Identifier: MIT
// gru_steps: the two cells, with the reset gate after and before the recurrent
// product, over the loop of rnn_steps.h.
#include "cpu/float_types.h"
#include "cpu/ops/rnn_arguments.h"
#include "cpu/ops/rnn_steps.h"

namespace traingraph::cpu {
namespace {

/// What both cells share.
template <class T>
class GruCell {
 public:
  using Element = T;
  static constexpr int kGates = kNumGruGates;

  struct Args {
    const T* secondary_bias;
    float* hidden;      // (samples, hidden): the state so far
    float* update;      // (samples, hidden): that gate; reset gate before only
    float* candidates;  // (samples, hidden): the second product
  };

  GruCell(const GruAttrs& attrs, const RecurrentSteps& steps,
          const ForwardArgs<T>& shared, const Args& args)
      : gates_(gru_gates(attrs), gru_blocks(attrs)),
        flips_(attrs.flip_z),
        s_(steps),
        shared_(shared),
        a_(args) {}

  void begin(const Place& p, const float* h) const {
    std::copy_n(h, p.n, a_.hidden + p.state);
  }
  void skip(const Place&) const {}
  void finish(const Place&) const {}

 protected:
  /// value = f(x + u); u may be null.
  void run_gate(int q, const Place& p, const float* u, float* value) const {
    const std::int64_t at =
        p.gates(s_.row(p), kGates, gates_.block[q], s_.hidden);
    std::copy_n(shared_.x + at, p.n, value);
    add_row(value, u, p.n);
    gates_.gate[q].activate(value, offset(shared_.gates, at), p.n);
  }

  /// The new state, from gates z and o.
  void mix(const Place& p, const float* z, const float* o, float* h) const {
    float* const state = a_.hidden + p.state;
    if (flips_) {  // NOLINT(bugprone-branch-clone): it is blind to the loops
#pragma omp simd
      for (std::int64_t j = 0; j < p.n; ++j) {
        h[j] = (1 - z[j]) * state[j] + z[j] * o[j];
      }
    } else {
#pragma omp simd
      for (std::int64_t j = 0; j < p.n; ++j) {
        h[j] = z[j] * state[j] + (1 - z[j]) * o[j];
      }
    }
    std::copy_n(h, p.n, state);
  }

  Gates<kGates> gates_;
  bool flips_;
  RecurrentSteps s_;
  ForwardArgs<T> shared_;
  Args a_;
};

template <class T>
class ResetAfterCell : public GruCell<T> {
  using Base = GruCell<T>;
  using Base::a_, Base::gates_, Base::s_, Base::shared_;

 public:
  static constexpr int kProducts = 1;
  using Base::Base;

  void step(const Place& p, bool has_product, float* h) const {
    const auto product = [&](int q) -> const float* {
      if (!has_product) return nullptr;
      return shared_.product +
             p.gates(p.sample, Base::kGates, gates_.block[q], s_.hidden);
    };
    GateRow z, r, o, u, buffer;
    Base::run_gate(kUpdateGate, p, product(kUpdateGate), z);
    Base::run_gate(kResetGate, p, product(kResetGate), r);
    std::copy_n(floats_of(offset(a_.secondary_bias, p.column), buffer, p.n),
                p.n, u);
    add_row(u, product(kCandidate), p.n);
    multiply_row(u, r, u, p.n);
    Base::run_gate(kCandidate, p, u, o);
    Base::mix(p, z, o, h);
  }
};

/// The first product is of the update and the reset gate, whose blocks are the
/// first two; the second one reads the state times the reset gate.
template <class T>
class ResetBeforeCell : public GruCell<T> {
  using Base = GruCell<T>;
  using Base::a_, Base::gates_, Base::s_, Base::shared_;

 public:
  static constexpr int kProducts = 2;
  using Base::Base;

  void prepare(const Place& p, bool has_product) const {
    GateRow r;
    for (int q : {kUpdateGate, kResetGate}) {
      const float* const product =
          has_product ? shared_.product +
                            p.gates(p.sample, 2, gates_.block[q], s_.hidden)
                      : nullptr;
      Base::run_gate(q, p, product, q == kResetGate ? r : a_.update + p.state);
    }
    T* const state = shared_.state + p.state;
#pragma omp simd
    for (std::int64_t j = 0; j < p.n; ++j) state[j] = state[j] * r[j];
  }

  void step(const Place& p, bool has_product, float* h) const {
    GateRow o;
    Base::run_gate(kCandidate, p,
                   has_product ? a_.candidates + p.state : nullptr, o);
    Base::mix(p, a_.update + p.state, o, h);
  }
};

}  // namespace

void lower_gru_steps(NodeLowering& lowering) {
  enum { kX, kWeights, kState, kMask, kSecondaryBias, kLengths };
  enum { kHidden, kGates, kLastHidden };
  const auto& attrs = lowering.attrs<GruAttrs>();
  const RecurrentSteps steps =
      recurrent_steps(lowering, kX, kWeights, attrs.reverse);
  const DataType type = lowering.input_desc(kX).data_type;
  const auto in = read_all<kLengths + 1>(lowering);
  const auto out = write_used<kLastHidden + 1>(lowering);
  if (out[kGates] >= 0) lowering.may_run_in_place(kGates, kX);
  const std::int64_t hidden = steps.hidden, size = steps.size();
  const bool is_after = attrs.reset_after;
  const auto product_of = [&](std::int64_t gates) {
    return StepProduct(lowering, MatrixView::plain(steps.samples, hidden),
                       MatrixView::plain(gates * hidden, hidden).transposed(),
                       type);
  };
  const std::int64_t gates = is_after ? kNumGruGates : kNumGruGates - 1;
  const StepProduct product = product_of(gates);
  std::optional<StepProduct> second;
  if (!is_after) second = product_of(1);
  const int products = float_scratch(lowering, gates * size);
  const int h = float_scratch(lowering, size);
  const int update = is_after ? -1 : float_scratch(lowering, size);
  const int candidates = is_after ? -1 : float_scratch(lowering, size);
  visit_any_float(lowering, type, [&]<class T>(T) {
    const int state = lowering.scratch(checked_bytes<T>(size, "scratch"));
    const std::size_t second_weights =
        checked_bytes<T>(gates * hidden * hidden, "weights");
    lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
      const ForwardArgs<T> args{
          .x = address<T>(at, in[kX]),
          .initial_state = address<T>(at, in[kState]),
          .mask = address<T>(at, in[kMask]),
          .lengths = address<std::int32_t>(at, in[kLengths]),
          .hidden = address<T>(at, out[kHidden]),
          .gates = address<T>(at, out[kGates]),
          .last_hidden = address<T>(at, out[kLastHidden]),
          .product = floats(at[products]),
          .state = typed<T>(at[state])};
      const typename GruCell<T>::Args own{
          .secondary_bias = address<T>(at, in[kSecondaryBias]),
          .hidden = floats(at[h]),
          .update = address<float>(at, update),
          .candidates = address<float>(at, candidates)};
      BoundStepProduct first =
          product.bind(at, at[state], at[in[kWeights]], at[products]);
      if (is_after) {
        return RecurrentForward<ResetAfterCell<T>>(
            steps, args, {attrs, steps, args, own}, {std::move(first)});
      }
      return RecurrentForward<ResetBeforeCell<T>>(
          steps, args, {attrs, steps, args, own},
          {std::move(first),
           second->bind(at, at[state], at[in[kWeights]] + second_weights,
                        at[candidates])});
    });
  });
}

}  // namespace traingraph::cpu
