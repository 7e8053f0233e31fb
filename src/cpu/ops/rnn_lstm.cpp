// SPDX-License-Identifier: MIT
// lstm_steps and its gradient. oneDNN has an LSTM, but with fixed activations,
// without masks and lengths, and with a workspace that only its own gradient
// reads.
#include "cpu/ops/rnn_backward.h"
#include "cpu/ops/rnn_forward.h"

namespace traingraph::cpu {
namespace {

using enum rnn::Operand;

template <class T>
class LstmCell : public RecurrentCell<T, kNumLstmGates> {
  using Base = RecurrentCell<T, kNumLstmGates>;
  using Base::a_, Base::s_;

 public:
  using Base::kGates;
  struct Rows {
    GateRow value[kGates], slope[kGates];
    GateRow g, dg, h;  // activation of the cell, its slope, and the state
  };

  LstmCell(UnitBuilder& unit, const RecurrentArguments& args)
      : Base(unit, args),
        activation_(gate_activations(unit.node().attrs).back()),
        reads_new_cell_(unit.attrs<LstmAttrs>().output_peephole_reads_new_cell),
        cell_arg_(scratch_of<float>(unit, args.steps().size())) {}

  void bind(BindContext& at, const RecurrentOperands<T>& a,
            const float* product, const float* second) {
    Base::bind(at, a, product, second);
    cell_ = floats(at[cell_arg_]);
  }

  void begin(const Place& p, const float*) const {
    GateRow buffer;
    std::copy_n(floats_of(offset(a_[InitialCell], p.state), buffer, p.n), p.n,
                cell_ + p.state);
  }

  void step(const Place& p, float* h) const {
    GateRow value[kGates], old;
    float* const c = cell_ + p.state;
    std::copy_n(c, p.n, old);
    for (int q : {kInputGate, kForgetGate, kCellGate, kOutputGate}) {
      float* const u = value[q];
      Base::load(q, p, Base::product(q, p), u);
      if (q == kOutputGate) update_cell(value, old, c, p.n);
      if (a_[Peephole]) {
        const bool reads_new = q == kOutputGate && reads_new_cell_;
        add_product_row(u, peephole(p, q), reads_new ? c : old, p.n);
      }
      Base::activate(q, p, u);
    }
    std::copy_n(c, p.n, h);
    activation_.activate(h, p.n);
    multiply_row(h, value[kOutputGate], h, p.n);
    if (a_[Cells]) std::copy_n(c, p.n, a_[Cells] + p.at);
  }

  void skip(const Place& p) const {
    if (a_[Cells]) std::fill_n(a_[Cells] + p.at, p.n, T{});
  }

  void finish(const Place& p) const { store_cell(p, a_[LastCell]); }

  void begin_back(const Place& p) const {
    std::fill_n(cell_ + p.state, p.n, 0.0f);
    add_row(cell_ + p.state, offset(a_.gradient(LastCell), p.state), p.n);
  }

  const float* restore(const Place& p, Rows& r) const {
    GateRow buffer;
    for (int q = 0; q < kGates; ++q) {
      Base::restore(q, p, r.value[q], r.slope[q]);
    }
    const float* const c = floats_of(a_[Cells] + p.at, buffer, p.n);
    activation_.differentiate(c, r.g, r.dg, p.n);
    multiply_row(r.g, r.value[kOutputGate], r.h, p.n);
    return r.h;
  }

  void differentiate(const Place& p, Rows& r, const float* dh,
                     float* direct) const {
    // Gradients of the gates take the place of their values, once these are
    // used up.
    GateRow dc, buffer;
    float* const carry = cell_ + p.state;
    float* const o = r.value[kOutputGate];
#pragma omp simd
    for (std::int64_t j = 0; j < p.n; ++j) {
      dc[j] = carry[j] + dh[j] * o[j] * r.dg[j];
      o[j] = r.g[j] * dh[j];
    }
    add_row(dc, offset(a_.gradient(Cells), p.at), p.n);
    Base::finish_gate(kOutputGate, p, o, r.slope[kOutputGate]);
    if (a_[Peephole] && reads_new_cell_) {
      add_product_row(dc, peephole(p, kOutputGate), o, p.n);
    }
    float *i = r.value[kInputGate], *f = r.value[kForgetGate],
          *z = r.value[kCellGate];
    const float* const old =
        floats_of(Base::before(Cells, InitialCell, p), buffer, p.n);
#pragma omp simd
    for (std::int64_t j = 0; j < p.n; ++j) {
      const float di = dc[j] * z[j], dz = dc[j] * i[j];
      carry[j] = dc[j] * f[j];
      i[j] = di;
      z[j] = dz;
      f[j] = dc[j] * old[j];
    }
    for (int q : {kInputGate, kForgetGate, kCellGate}) {
      Base::finish_gate(q, p, r.value[q], r.slope[q]);
      if (a_[Peephole]) {
        add_product_row(carry, peephole(p, q), r.value[q], p.n);
      }
    }
    if (a_[Peephole] && !reads_new_cell_) {
      add_product_row(carry, peephole(p, kOutputGate), o, p.n);
    }
    std::fill_n(direct, p.n, 0.0f);
  }

  void end(const Place& p) const { store_cell(p, a_.gradient(InitialCell)); }

  /// The peepholes' gradients: those of the gates times the cells they read.
  void add_up() const {
    T* const dpeephole = a_.gradient(Peephole);
    if (!dpeephole) return;
    Base::add_up_steps(
        kGates,
        [this](int q, const Place& p, float* sum) {
          const bool reads_new = q == kOutputGate && reads_new_cell_;
          const T* const cells = reads_new
                                     ? a_[Cells] + p.at
                                     : Base::before(Cells, InitialCell, p);
          if (!cells) return;
          GateRow buffer, more;
          const float* const c = floats_of(cells, buffer, p.n);
          const T* const dx = a_.gradient(X) + Base::at(q, p);
          add_product_row(sum, floats_of(dx, more, p.n), c, p.n);
        },
        [&](int q, std::int64_t column, std::int64_t n, const double* sum) {
          std::copy_n(sum, n, dpeephole + this->block_[q] * s_.hidden + column);
        });
  }

 private:
  static void update_cell(const GateRow* value, const float* old, float* c,
                          std::int64_t n) {
    const float *i = value[kInputGate], *f = value[kForgetGate],
                *z = value[kCellGate];
#pragma omp simd
    for (std::int64_t j = 0; j < n; ++j) c[j] = f[j] * old[j] + i[j] * z[j];
  }

  const T* peephole(const Place& p, int q) const {
    return a_[Peephole] + this->block_[q] * s_.hidden + p.column;
  }
  void store_cell(const Place& p, T* to) const {
    if (to) std::copy_n(cell_ + p.state, p.n, to + p.state);
  }

  Gate activation_;
  bool reads_new_cell_;
  int cell_arg_;
  float* cell_ = nullptr;  // (samples, hidden): so far, or its gradient
};

}  // namespace

void lower_lstm_steps(UnitBuilder& unit) {
  emit_recurrent<RecurrentForward, LstmCell>(unit);
}

void lower_lstm_steps_gradient(UnitBuilder& unit) {
  emit_recurrent<RecurrentBackward, LstmCell>(unit);
}

}  // namespace traingraph::cpu
