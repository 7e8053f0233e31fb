// SPDX-License-Identifier: MIT
// lstm_steps_gradient: the cell, over the loop of rnn_back_steps.h.
#include "cpu/float_types.h"
#include "cpu/ops/rnn_arguments.h"

namespace traingraph::cpu {
namespace {

template <class T>
class LstmBackCell {
 public:
  using Element = T;
  static constexpr int kGates = kNumLstmGates;
  static constexpr bool kHasInnerProduct = false;

  struct Args {
    const T *cells, *initial_cell, *peephole, *cells_gradient,
        *last_cell_gradient;
    T *dpeephole, *dinitial_cell;
    float* dcell;  // (samples, hidden)
  };

  struct Rows {
    GateRow value[kGates], slope[kGates];
    GateRow g, dg, h;  // activation of the cell, its slope, and the state
  };

  LstmBackCell(const LstmAttrs& attrs, const RecurrentSteps& steps,
               const BackwardArgs<T>& shared, const Args& args)
      : gates_(lstm_gates(attrs), lstm_blocks(attrs)),
        activation_(lstm_activation(attrs)),
        reads_new_cell_(attrs.output_peephole_reads_new_cell),
        s_(steps),
        shared_(shared),
        a_(args) {}

  void begin(const Place& p) const {
    std::fill_n(a_.dcell + p.state, p.n, 0.0f);
    add_row(a_.dcell + p.state, offset(a_.last_cell_gradient, p.state), p.n);
  }

  const float* restore(const Place& p, Rows& r) const {
    GateRow buffer;
    for (int q = 0; q < kGates; ++q) {
      const float* const saved =
          floats_of(shared_.gates + block(p, q), buffer, p.n);
      gates_.gate[q].restore(saved, r.value[q], r.slope[q], p.n);
    }
    const float* const c = floats_of(a_.cells + p.at, buffer, p.n);
    activation_.differentiate(c, r.g, r.dg, p.n);
    multiply_row(r.g, r.value[kOutputGate], r.h, p.n);
    return r.h;
  }

  void differentiate(const Place& p, Rows& r, const float* dh,
                     float* direct) const {
    // Gradients of the gates take the place of their values, once these are
    // used up.
    GateRow dc, buffer;
    float* const carry = a_.dcell + p.state;
    float* const o = r.value[kOutputGate];
#pragma omp simd
    for (std::int64_t j = 0; j < p.n; ++j) {
      dc[j] = carry[j] + dh[j] * o[j] * r.dg[j];
      o[j] = r.g[j] * dh[j];
    }
    add_row(dc, offset(a_.cells_gradient, p.at), p.n);
    finish(p, kOutputGate, r);
    if (a_.peephole && reads_new_cell_) {
      add_product_row(dc, peephole(p, kOutputGate), o, p.n);
    }
    float *i = r.value[kInputGate], *f = r.value[kForgetGate],
          *z = r.value[kCellGate];
    const float* const old = floats_of(cell_before(p), buffer, p.n);
#pragma omp simd
    for (std::int64_t j = 0; j < p.n; ++j) {
      const float di = dc[j] * z[j], dz = dc[j] * i[j];
      carry[j] = dc[j] * f[j];
      i[j] = di;
      z[j] = dz;
      f[j] = dc[j] * old[j];
    }
    for (int q : {kInputGate, kForgetGate, kCellGate}) {
      finish(p, q, r);
      if (a_.peephole) add_product_row(carry, peephole(p, q), r.value[q], p.n);
    }
    if (a_.peephole && !reads_new_cell_) {
      add_product_row(carry, peephole(p, kOutputGate), o, p.n);
    }
    std::fill_n(direct, p.n, 0.0f);
  }

  void skip(const Place&) const {}

  void end(const Place& p) const {
    if (a_.dinitial_cell) {
      std::copy_n(a_.dcell + p.state, p.n, a_.dinitial_cell + p.state);
    }
  }

  /// The peepholes' gradients: those of the gates times the cells they read.
  void add_up() const {
    if (!a_.dpeephole) return;
    add_up_steps(
        s_, shared_.lengths, kGates,
        [this](int q, const Place& p, float* sum) {
          const bool reads_new = q == kOutputGate && reads_new_cell_;
          const T* const cells = reads_new ? a_.cells + p.at : cell_before(p);
          if (!cells) return;
          GateRow buffer, more;
          const float* const c = floats_of(cells, buffer, p.n);
          add_product_row(sum, floats_of(shared_.dx + block(p, q), more, p.n),
                          c, p.n);
        },
        [this](int q, std::int64_t column, std::int64_t n, const double* sum) {
          std::copy_n(sum, n,
                      a_.dpeephole + gates_.block[q] * s_.hidden + column);
        });
  }

 private:
  std::int64_t block(const Place& p, int q) const {
    return p.gates(s_.row(p), kGates, gates_.block[q], s_.hidden);
  }
  const T* peephole(const Place& p, int q) const {
    return a_.peephole + gates_.block[q] * s_.hidden + p.column;
  }
  const T* cell_before(const Place& p) const {
    const std::int64_t row = s_.row_before(p);
    return row < 0 ? offset(a_.initial_cell, p.state)
                   : a_.cells + row * s_.hidden + p.column;
  }
  void finish(const Place& p, int q, Rows& r) const {
    finish_gate(gates_.gate[q], shared_, block(p, q), r.value[q], r.slope[q],
                p.n);
  }

  Gates<kGates> gates_;
  Gate activation_;
  bool reads_new_cell_;
  RecurrentSteps s_;
  BackwardArgs<T> shared_;
  Args a_;
};

enum Input {
  kGates,
  kCells,
  kHidden,
  kWeights,
  kInitialState,
  kInitialCell,
  kPeephole,
  kMask,
  kLengths,
  kHiddenGradient,
  kCellsGradient,
  kGatesGradient,
  kLastHiddenGradient,
  kLastCellGradient,
  kNumInputs
};
enum Result {
  kDx,
  kDWeights,
  kDPeephole,
  kDInitialState,
  kDInitialCell,
  kDMask,
  kNumResults
};

}  // namespace

void lower_lstm_steps_gradient(NodeLowering& lowering) {
  const auto& attrs = lowering.attrs<LstmAttrs>();
  const RecurrentSteps steps =
      recurrent_steps(lowering, kGates, kWeights, attrs.reverse);
  const std::int64_t hidden = steps.hidden, width = kNumLstmGates * hidden;
  const DataType type = lowering.input_desc(kGates).data_type;

  const auto out = write_gradients<kNumResults>(lowering);
  const bool has_weights = out[kDWeights] >= 0;
  const bool is_shifted = lowering.has(kHidden) &&
                          !lowering.has(kInitialState) && !lowering.has(kMask);
  std::array<int, kNumInputs> in;
  for (int i = 0; i < kNumInputs; ++i) {
    const bool is_read =
        lowering.has(i) && (i != kHidden || (has_weights && is_shifted));
    in[i] = is_read ? lowering.read(i) : -1;
  }
  lowering.may_run_in_place(kDx, kGates);

  const StepProduct product(lowering, MatrixView::plain(steps.samples, width),
                            MatrixView::plain(width, hidden), type);
  std::optional<WeightsGradient> weights;
  if (has_weights) {
    weights.emplace(lowering, steps, width, width, is_shifted, type);
  }
  const int products = float_scratch(lowering, steps.size());
  const int dstate = float_scratch(lowering, steps.size());
  const int dcell = float_scratch(lowering, steps.size());
  const int dmask =
      out[kDMask] >= 0 ? float_scratch(lowering, steps.size()) : -1;
  visit_any_float(lowering, type, [&]<class T>(T) {
    const int states = has_weights && !is_shifted
                           ? lowering.scratch(checked_bytes<T>(
                                 steps.steps * steps.size(), "scratch"))
                           : -1;
    lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
      const auto input = [&](Input i) { return address<const T>(at, in[i]); };
      const auto result = [&](Result r) { return address<T>(at, out[r]); };
      const BackwardArgs<T> args{
          .gates = input(kGates),
          .initial_state = input(kInitialState),
          .mask = input(kMask),
          .lengths = address<std::int32_t>(at, in[kLengths]),
          .hidden_gradient = input(kHiddenGradient),
          .gates_gradient = input(kGatesGradient),
          .last_hidden_gradient = input(kLastHiddenGradient),
          .dx = result(kDx),
          .dinitial_state = result(kDInitialState),
          .dmask = result(kDMask),
          .states = address<T>(at, states),
          .product = floats(at[products]),
          .dstate = floats(at[dstate]),
          .dmask_sum = address<float>(at, dmask)};
      BackwardProducts<T> all{
          .main =
              product.bind(at, at[out[kDx]], at[in[kWeights]], at[products]),
          .rows = args.dx,
          .inner = {},
          .stride = steps.samples * width,
          .weights = {}};
      if (weights) {
        weights->add_to(
            all, at, args.dx,
            is_shifted ? address<T>(at, in[kHidden]) : args.states,
            {result(kDWeights), static_cast<std::size_t>(width * hidden)});
      }
      const LstmBackCell<T> cell(
          attrs, steps, args,
          {.cells = input(kCells),
           .initial_cell = input(kInitialCell),
           .peephole = input(kPeephole),
           .cells_gradient = input(kCellsGradient),
           .last_cell_gradient = input(kLastCellGradient),
           .dpeephole = result(kDPeephole),
           .dinitial_cell = result(kDInitialCell),
           .dcell = floats(at[dcell])});
      return RecurrentBackward<LstmBackCell<T>>(steps, args, cell,
                                                std::move(all));
    });
  });
}

}  // namespace traingraph::cpu
