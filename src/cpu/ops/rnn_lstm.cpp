// SPDX-License-Identifier: MIT
// lstm_steps: the cell, over the loop of rnn_steps.h. oneDNN has an LSTM, but
// with fixed activations, without masks and lengths, and with a workspace that
// only its own gradient reads.
#include "cpu/float_types.h"
#include "cpu/ops/rnn_arguments.h"
#include "cpu/ops/rnn_steps.h"

namespace traingraph::cpu {
namespace {

template <class T>
class LstmCell {
 public:
  using Element = T;
  static constexpr int kProducts = 1, kGates = kNumLstmGates;

  struct Args {
    const T *initial_cell, *peephole;
    T *cells, *last_cell;
    float* cell;  // (samples, hidden): so far
  };

  LstmCell(const LstmAttrs& attrs, const RecurrentSteps& steps,
           const ForwardArgs<T>& shared, const Args& args)
      : gates_(lstm_gates(attrs), lstm_blocks(attrs)),
        activation_(lstm_activation(attrs)),
        reads_new_cell_(attrs.output_peephole_reads_new_cell),
        s_(steps),
        shared_(shared),
        a_(args) {}

  void begin(const Place& p, const float*) const {
    GateRow buffer;
    std::copy_n(floats_of(offset(a_.initial_cell, p.state), buffer, p.n), p.n,
                a_.cell + p.state);
  }

  void step(const Place& p, bool has_product, float* h) const {
    GateRow value[kGates], old;
    float* const c = a_.cell + p.state;
    std::copy_n(c, p.n, old);
    for (int q : {kInputGate, kForgetGate, kCellGate, kOutputGate}) {
      const int block = gates_.block[q];
      const std::int64_t at = p.gates(s_.row(p), kGates, block, s_.hidden);
      float* const u = value[q];
      std::copy_n(shared_.x + at, p.n, u);
      if (has_product) {
        add_row(u,
                shared_.product + p.gates(p.sample, kGates, block, s_.hidden),
                p.n);
      }
      if (q == kOutputGate) update_cell(value, old, c, p.n);
      if (a_.peephole) {
        const bool reads_new = q == kOutputGate && reads_new_cell_;
        add_product_row(u, a_.peephole + block * s_.hidden + p.column,
                        reads_new ? c : old, p.n);
      }
      gates_.gate[q].activate(u, offset(shared_.gates, at), p.n);
    }
    std::copy_n(c, p.n, h);
    activation_.activate(h, p.n);
    multiply_row(h, value[kOutputGate], h, p.n);
    if (a_.cells) std::copy_n(c, p.n, a_.cells + p.at);
  }

  void skip(const Place& p) const {
    if (a_.cells) std::fill_n(a_.cells + p.at, p.n, T{});
  }

  void finish(const Place& p) const {
    if (a_.last_cell) {
      std::copy_n(a_.cell + p.state, p.n, a_.last_cell + p.state);
    }
  }

 private:
  static void update_cell(const GateRow* value, const float* old, float* c,
                          std::int64_t n) {
    const float *i = value[kInputGate], *f = value[kForgetGate],
                *z = value[kCellGate];
#pragma omp simd
    for (std::int64_t j = 0; j < n; ++j) c[j] = f[j] * old[j] + i[j] * z[j];
  }

  Gates<kGates> gates_;
  Gate activation_;
  bool reads_new_cell_;
  RecurrentSteps s_;
  ForwardArgs<T> shared_;
  Args a_;
};

}  // namespace

void lower_lstm_steps(NodeLowering& lowering) {
  enum { kX, kWeights, kState, kCell, kPeephole, kMask, kLengths };
  enum { kHidden, kCells, kGates, kLastHidden, kLastCell };
  const auto& attrs = lowering.attrs<LstmAttrs>();
  const RecurrentSteps steps =
      recurrent_steps(lowering, kX, kWeights, attrs.reverse);
  const DataType type = lowering.input_desc(kX).data_type;
  const auto in = read_all<kLengths + 1>(lowering);
  const auto out = write_used<kLastCell + 1>(lowering);
  if (out[kGates] >= 0) lowering.may_run_in_place(kGates, kX);
  const std::int64_t hidden = steps.hidden;
  const StepProduct product(
      lowering, MatrixView::plain(steps.samples, hidden),
      MatrixView::plain(kNumLstmGates * hidden, hidden).transposed(), type);
  const int products = float_scratch(lowering, kNumLstmGates * steps.size());
  const int cell = float_scratch(lowering, steps.size());
  visit_any_float(lowering, type, [&]<class T>(T) {
    const int state =
        lowering.scratch(checked_bytes<T>(steps.size(), "scratch"));
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
      const LstmCell<T> lstm(attrs, steps, args,
                             {.initial_cell = address<T>(at, in[kCell]),
                              .peephole = address<T>(at, in[kPeephole]),
                              .cells = address<T>(at, out[kCells]),
                              .last_cell = address<T>(at, out[kLastCell]),
                              .cell = floats(at[cell])});
      return RecurrentForward<LstmCell<T>>(
          steps, args, lstm,
          {product.bind(at, at[state], at[in[kWeights]], at[products])});
    });
  });
}

}  // namespace traingraph::cpu
