// SPDX-License-Identifier: MIT
// The cells of gru_steps_gradient, with the reset gate after and before the
// recurrent product, for the loop of rnn_back_steps.h.
#pragma once

#include "cpu/ops/rnn_back_steps.h"

namespace traingraph::cpu {

template <class T>
class GruBackCell {
 public:
  using Element = T;
  static constexpr int kGates = kNumGruGates;

  struct Args {
    const T *hidden, *secondary_bias;
    T* dsecondary_bias;
    // (steps, samples, hidden): k R_o^T; reset gate after only
    const float* products;
    T* dproducts;  // (steps, samples, gates): what goes back through products
    T* reset;      // (steps, samples, hidden): k r; reset gate before only
    const float* dreset;  // (samples, hidden): the inner product
  };

  /// Gates, their slopes, and the state.
  struct Rows {
    GateRow z, r, o, dz, dr, d_o, state;
  };

  GruBackCell(const GruAttrs& attrs, const RecurrentSteps& steps,
              const BackwardArgs<T>& shared, const Args& args)
      : gates_(gru_gates(attrs), gru_blocks(attrs)),
        flips_(attrs.flip_z),
        s_(steps),
        shared_(shared),
        a_(args) {}

  void begin(const Place&) const {}
  void end(const Place&) const {}

 protected:
  std::int64_t block(const Place& p, int q) const {
    return p.gates(s_.row(p), kGates, gates_.block[q], s_.hidden);
  }
  void restore(int q, const Place& p, float* value, float* slope) const {
    GateRow buffer;
    gates_.gate[q].restore(floats_of(shared_.gates + block(p, q), buffer, p.n),
                           value, slope, p.n);
  }
  const float* state(const Place& p, float* buffer) const {
    return floats_of(a_.hidden + p.at, buffer, p.n);
  }
  const float* state_before(const Place& p, float* buffer) const {
    const std::int64_t row = s_.row_before(p);
    return floats_of(row < 0 ? offset(shared_.initial_state, p.state)
                             : a_.hidden + row * s_.hidden + p.column,
                     buffer, p.n);
  }

  /// dz and d_o, of what the gates give, and `direct` from dh.
  void unmix(const Place& p, const float* z, const float* o, const float* dh,
             float* dz, float* d_o, float* direct) const {
    GateRow buffer;
    const float* const h = state_before(p, buffer);
    const float sign = flips_ ? -1.0f : 1.0f;
#pragma omp simd
    for (std::int64_t j = 0; j < p.n; ++j) {
      const float kept = flips_ ? 1 - z[j] : z[j];
      const float total = dh[j];
      dz[j] = sign * total * (h[j] - o[j]);
      d_o[j] = total * (flips_ ? z[j] : 1 - z[j]);
      direct[j] = total * kept;
    }
  }

  void finish(const Place& p, int q, float* d, const float* slope) const {
    finish_gate(gates_.gate[q], shared_, block(p, q), d, slope, p.n);
  }

  Gates<kGates> gates_;
  bool flips_;
  RecurrentSteps s_;
  BackwardArgs<T> shared_;
  Args a_;
};

template <class T>
class ResetAfterBackCell : public GruBackCell<T> {
  using Base = GruBackCell<T>;
  using Base::a_, Base::s_, Base::shared_, Base::gates_;

 public:
  static constexpr bool kHasInnerProduct = false;
  using Rows = typename Base::Rows;
  using Base::Base;

  const float* restore(const Place& p, Rows& r) const {
    Base::restore(kUpdateGate, p, r.z, r.dz);
    Base::restore(kResetGate, p, r.r, r.dr);
    Base::restore(kCandidate, p, r.o, r.d_o);
    return Base::state(p, r.state);
  }

  void differentiate(const Place& p, const Rows& r, const float* dh,
                     float* direct) const {
    GateRow z, o, d, u, buffer;
    Base::unmix(p, r.z, r.o, dh, z, o, direct);
    Base::finish(p, kUpdateGate, z, r.dz);
    Base::finish(p, kCandidate, o, r.d_o);
    std::copy_n(floats_of(offset(a_.secondary_bias, p.column), buffer, p.n),
                p.n, u);
    add_row(u, products_of(p), p.n);
    multiply_row(o, u, d, p.n);
    Base::finish(p, kResetGate, d, r.dr);
    multiply_row(o, r.r, o, p.n);
    store(p, kUpdateGate, z);
    store(p, kResetGate, d);
    store(p, kCandidate, o);
  }

  void skip(const Place& p) const {
    for (int q = 0; q < Base::kGates; ++q) {
      std::fill_n(a_.dproducts + Base::block(p, q), p.n, T{});
    }
  }

  /// The gradient of the secondary bias.
  void add_up() const {
    if (!a_.dsecondary_bias) return;
    add_up_steps(
        s_, shared_.lengths, /*num_blocks=*/1,
        [this](int, const Place& p, float* sum) {
          add_row(sum, a_.dproducts + Base::block(p, kCandidate), p.n);
        },
        [this](int, std::int64_t column, std::int64_t n, const double* sum) {
          std::copy_n(sum, n, a_.dsecondary_bias + column);
        });
  }

 private:
  /// Null where a step had no state.
  const float* products_of(const Place& p) const {
    const bool has_product = s_.row_before(p) >= 0 || shared_.initial_state;
    return has_product ? a_.products + p.at : nullptr;
  }
  void store(const Place& p, int q, const float* d) const {
    std::copy_n(d, p.n, a_.dproducts + Base::block(p, q));
  }
};

template <class T>
class ResetBeforeBackCell : public GruBackCell<T> {
  using Base = GruBackCell<T>;
  using Base::a_, Base::s_, Base::shared_;

 public:
  static constexpr bool kHasInnerProduct = true;
  using Rows = typename Base::Rows;
  using Base::Base;

  const float* restore(const Place& p, Rows& r) const {
    Base::restore(kUpdateGate, p, r.z, r.dz);
    Base::restore(kCandidate, p, r.o, r.d_o);
    return Base::state(p, r.state);
  }

  void differentiate(const Place& p, const Rows& r, const float* dh,
                     float* direct) const {
    GateRow z, o;
    Base::unmix(p, r.z, r.o, dh, z, o, direct);
    Base::finish(p, kUpdateGate, z, r.dz);
    Base::finish(p, kCandidate, o, r.d_o);
  }

  /// The inner product is the gradient of the state times the reset gate.
  void reset(const Place& p, float* direct, float* dmask) const {
    GateRow r, slope, k, d, buffer;
    Base::restore(kResetGate, p, r, slope);
    const float* const h = Base::state_before(p, buffer);
    const T* const mask = offset(shared_.mask, p.state);
    multiply_row(h, mask, k, p.n);
    const float* const v = a_.dreset + p.state;
    if (a_.reset) multiply_row(k, r, a_.reset + p.at, p.n);
    multiply_row(v, k, d, p.n);
    Base::finish(p, kResetGate, d, slope);
    multiply_row(v, r, d, p.n);
    if (dmask) add_product_row(dmask, d, h, p.n);
    multiply_row(d, mask, d, p.n);
    add_row(direct, d, p.n);
  }

  void skip(const Place& p) const {
    if (a_.reset) std::fill_n(a_.reset + p.at, p.n, T{});
  }

  void add_up() const {
    if (a_.dsecondary_bias) {
      std::fill_n(a_.dsecondary_bias, s_.hidden, T{});
    }
  }
};

}  // namespace traingraph::cpu
