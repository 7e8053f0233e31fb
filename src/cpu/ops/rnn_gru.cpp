// SPDX-License-Identifier: MIT
// gru_steps and its gradient, with the reset gate after and before the
// recurrent product.
//
// Before it there are two products: of the update and the reset gate, whose
// blocks are the first two, and of the candidate, which reads the state times
// the reset gate.
//
// After it, the gradients that go back through the product are those of the
// gates' arguments but for the candidate, whose is times the reset gate: they
// have memory of their own. What the reset gate multiplied is not saved; one
// product over all steps gives it again.
#include "cpu/ops/rnn_backward.h"
#include "cpu/ops/rnn_forward.h"

namespace traingraph::cpu {
namespace {

using enum rnn::Operand;

template <class T>
class GruCell : public RecurrentCell<T, kNumGruGates> {
  using Base = RecurrentCell<T, kNumGruGates>;
  using Base::a_, Base::s_;

 public:
  using Base::kGates;
  /// Gates, their slopes, and the state.
  struct Rows {
    GateRow z, r, o, dz, dr, d_o, state;
  };

  GruCell(UnitBuilder& unit, const RecurrentArguments& args);

  int num_first() const { return resets_after_ ? kGates : kGates - 1; }
  bool reads_states() const { return resets_after_; }
  T* product_gradients() const { return dproducts_; }
  T* second_states() const { return reset_; }
  void bind(BindContext& at, const RecurrentOperands<T>& a,
            const float* product, const float* second);
  void bind_states(BindContext& at, T* states);

  void begin(const Place& p, const float* h) const {
    std::copy_n(h, p.n, hidden_ + p.state);
  }
  void prepare(const Place& p) const;
  void step(const Place& p, float* h) const;

  void start_back() const {
    if (!again_) return;
    again_->pack();
    again_->run();
  }
  const float* restore(const Place& p, Rows& r) const;
  void differentiate(const Place& p, const Rows& r, const float* dh,
                     float* direct) const;
  void reset(const Place& p, float* direct, float* dmask) const;
  void skip_back(const Place& p) const;
  void add_up() const;

 private:
  /// value = f(x + u); u may be null.
  void run_gate(int q, const Place& p, const float* u, float* value) const {
    Base::load(q, p, u, value);
    Base::activate(q, p, value);
  }
  /// u + the secondary bias, where the candidate's product gave u.
  void add_bias(const Place& p, const float* u, float* sum) const {
    GateRow buffer;
    std::copy_n(floats_of(offset(a_[SecondaryBias], p.column), buffer, p.n),
                p.n, sum);
    add_row(sum, u, p.n);
  }
  /// The new state, from gates z and o.
  void mix(const Place& p, const float* z, const float* o, float* h) const;
  /// dz and d_o, of what the gates give, and `direct` from dh.
  void unmix(const Place& p, const Rows& r, const float* dh, float* dz,
             float* d_o, float* direct) const;
  void go_back(const Place& p, int q, const float* d) const {
    std::copy_n(d, p.n, dproducts_ + Base::at(q, p));
  }

  bool resets_after_, flips_;
  std::shared_ptr<const EngineProduct> plan_;
  std::int64_t skipped_ = 0;  // rows of a shifted product
  int hidden_arg_ = -1, update_arg_ = -1, products_arg_ = -1,
      dproducts_arg_ = -1, reset_arg_ = -1;

  // Forward, (samples, hidden) each: the state so far, and the update gate.
  float *hidden_ = nullptr, *update_ = nullptr;
  T* states_ = nullptr;  // what the second product multiplies
  // Backward, of all steps: k R_o^T, what goes back through products, and k r.
  float* products_ = nullptr;
  T *dproducts_ = nullptr, *reset_ = nullptr;
  std::shared_ptr<BoundProduct> again_;
};

template <class T>
GruCell<T>::GruCell(UnitBuilder& unit, const RecurrentArguments& args)
    : Base(unit, args),
      resets_after_(unit.attrs<GruAttrs>().reset_after),
      flips_(unit.attrs<GruAttrs>().flip_z) {
  const std::int64_t size = s_.size(), all = s_.steps * size;
  if (unit.node().op->kind == OpKind::GruSteps) {
    hidden_arg_ = scratch_of<float>(unit, size);
    if (!resets_after_) update_arg_ = scratch_of<float>(unit, size);
    return;
  }
  if (!resets_after_) {
    if (args.has_gradient(Weights)) reset_arg_ = scratch_of<T>(unit, all);
    return;
  }
  products_arg_ = scratch_of<float>(unit, all);
  dproducts_arg_ = scratch_of<T>(unit, all * kGates);
  skipped_ = args.is_shifted() ? s_.samples : 0;
  const std::int64_t rows = s_.steps * s_.samples - skipped_;
  if (rows == 0) return;
  // What is repeated is float32, as in the forward op.
  plan_ = make_engine_product(
      unit, MatrixView::plain(rows, s_.hidden),
      MatrixView::plain(s_.hidden, s_.hidden).transposed(), args.type(),
      is_exact<T> ? ProductUse::Once : ProductUse::Repeated);
}

template <class T>
void GruCell<T>::bind(BindContext& at, const RecurrentOperands<T>& a,
                      const float* product, const float* second) {
  Base::bind(at, a, product, second);
  hidden_ = address<float>(at, hidden_arg_);
  update_ = address<float>(at, update_arg_);
  products_ = address<float>(at, products_arg_);
  dproducts_ = address<T>(at, dproducts_arg_);
  reset_ = address<T>(at, reset_arg_);
}

template <class T>
void GruCell<T>::bind_states(BindContext& at, T* states) {
  states_ = states;
  if (!plan_) return;
  // Where they are shifted: see WeightsGradient.
  const std::int64_t moved = skipped_ * s_.hidden;
  again_ = plan_->bind(at, bytes(states + (s_.is_reverse ? moved : 0)),
                       bytes(a_[Weights] + kCandidate * s_.hidden * s_.hidden),
                       bytes(products_ + (s_.is_reverse ? 0 : moved)));
}

template <class T>
void GruCell<T>::prepare(const Place& p) const {
  GateRow r;
  for (int q : {kUpdateGate, kResetGate}) {
    run_gate(q, p, Base::product(q, p, kGates - 1),
             q == kResetGate ? r : update_ + p.state);
  }
  T* const state = states_ + p.state;
#pragma omp simd
  for (std::int64_t j = 0; j < p.n; ++j) state[j] = state[j] * r[j];
}

template <class T>
void GruCell<T>::step(const Place& p, float* h) const {
  GateRow o;
  if (!resets_after_) {
    run_gate(kCandidate, p,
             this->has_product_ ? this->second_ + p.state : nullptr, o);
    return mix(p, update_ + p.state, o, h);
  }
  GateRow z, r, u;
  run_gate(kUpdateGate, p, Base::product(kUpdateGate, p), z);
  run_gate(kResetGate, p, Base::product(kResetGate, p), r);
  add_bias(p, Base::product(kCandidate, p), u);
  multiply_row(u, r, u, p.n);
  run_gate(kCandidate, p, u, o);
  mix(p, z, o, h);
}

template <class T>
void GruCell<T>::mix(const Place& p, const float* z, const float* o,
                     float* h) const {
  float* const state = hidden_ + p.state;
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

template <class T>
const float* GruCell<T>::restore(const Place& p, Rows& r) const {
  Base::restore(kUpdateGate, p, r.z, r.dz);
  Base::restore(kCandidate, p, r.o, r.d_o);
  if (resets_after_) Base::restore(kResetGate, p, r.r, r.dr);
  return floats_of(a_[Hidden] + p.at, r.state, p.n);
}

template <class T>
void GruCell<T>::differentiate(const Place& p, const Rows& r, const float* dh,
                               float* direct) const {
  GateRow z, o;
  unmix(p, r, dh, z, o, direct);
  Base::finish_gate(kUpdateGate, p, z, r.dz);
  Base::finish_gate(kCandidate, p, o, r.d_o);
  if (!resets_after_) return;
  GateRow d, u;
  // A step without a state before it had no product.
  const bool has_product = s_.row_before(p) >= 0 || a_[InitialState];
  add_bias(p, has_product ? products_ + p.at : nullptr, u);
  multiply_row(o, u, d, p.n);
  Base::finish_gate(kResetGate, p, d, r.dr);
  multiply_row(o, r.r, o, p.n);
  go_back(p, kUpdateGate, z);
  go_back(p, kResetGate, d);
  go_back(p, kCandidate, o);
}

template <class T>
void GruCell<T>::unmix(const Place& p, const Rows& r, const float* dh,
                       float* dz, float* d_o, float* direct) const {
  GateRow buffer;
  const float* const h =
      floats_of(Base::before(Hidden, InitialState, p), buffer, p.n);
  const float *z = r.z, *o = r.o;
  const bool flips = flips_;
  const float sign = flips ? -1.0f : 1.0f;
#pragma omp simd
  for (std::int64_t j = 0; j < p.n; ++j) {
    const float kept = flips ? 1 - z[j] : z[j];
    const float total = dh[j];
    dz[j] = sign * total * (h[j] - o[j]);
    d_o[j] = total * (flips ? z[j] : 1 - z[j]);
    direct[j] = total * kept;
  }
}

/// The second product is the gradient of the state times the reset gate.
template <class T>
void GruCell<T>::reset(const Place& p, float* direct, float* dmask) const {
  GateRow r, slope, k, d, buffer;
  Base::restore(kResetGate, p, r, slope);
  const float* const h =
      floats_of(Base::before(Hidden, InitialState, p), buffer, p.n);
  const T* const mask = offset(a_[Mask], p.state);
  multiply_row(h, mask, k, p.n);
  const float* const v = this->second_ + p.state;
  if (reset_) multiply_row(k, r, reset_ + p.at, p.n);
  multiply_row(v, k, d, p.n);
  Base::finish_gate(kResetGate, p, d, slope);
  multiply_row(v, r, d, p.n);
  if (dmask) add_product_row(dmask, d, h, p.n);
  multiply_row(d, mask, d, p.n);
  add_row(direct, d, p.n);
}

template <class T>
void GruCell<T>::skip_back(const Place& p) const {
  if (reset_) std::fill_n(reset_ + p.at, p.n, T{});
  for (int q = 0; dproducts_ && q < kGates; ++q) {
    std::fill_n(dproducts_ + Base::at(q, p), p.n, T{});
  }
}

/// The gradient of the secondary bias.
template <class T>
void GruCell<T>::add_up() const {
  T* const dbias = a_.gradient(SecondaryBias);
  if (!dbias) return;
  if (!resets_after_) {
    std::fill_n(dbias, s_.hidden, T{});
    return;
  }
  Base::add_up_steps(
      /*num_blocks=*/1,
      [this](int, const Place& p, float* sum) {
        add_row(sum, dproducts_ + Base::at(kCandidate, p), p.n);
      },
      [&](int, std::int64_t column, std::int64_t n, const double* sum) {
        std::copy_n(sum, n, dbias + column);
      });
}

}  // namespace

void lower_gru_steps(UnitBuilder& unit) {
  emit_recurrent<RecurrentForward, GruCell>(unit);
}

void lower_gru_steps_gradient(UnitBuilder& unit) {
  emit_recurrent<RecurrentBackward, GruCell>(unit);
}

}  // namespace traingraph::cpu
