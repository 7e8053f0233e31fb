// SPDX-License-Identifier: MIT
// lstm: in every step a recurrent product (rnn_product.h) and one pass over the
// gates. oneDNN has an LSTM, but with fixed activations, without masks and
// lengths, and with a workspace that only its own gradient reads.
#include "cpu/float_types.h"
#include "cpu/ops/rnn_gates.h"
#include "cpu/ops/rnn_product.h"
#include "cpu/typed_address.h"

namespace traingraph::cpu {
namespace {

/// Null where an input is absent or a result is not used.
template <class T>
struct LstmArgs {
  const T *x, *initial_state, *initial_cell, *peephole, *mask;
  const std::int32_t* lengths;
  T *hidden, *cells, *gates, *last_hidden, *last_cell;
  float* product;  // (samples, 4 hidden)
  T* state;        // (samples, hidden): what the next product multiplies
  float* cell;     // (samples, hidden): the cell so far
};

template <class T>
class LstmForward {
 public:
  LstmForward(const LstmAttrs& attrs, const LstmSteps& steps,
              const LstmArgs<T>& args, BoundStepProduct product)
      : gates_(attrs),
        reads_new_cell_(attrs.output_peephole_reads_new_cell),
        s_(steps),
        a_(args),
        product_(std::move(product)) {}

  void operator()() {
    product_.pack();
    s_.for_each_block([this](auto... block) { begin(block...); });
    for (std::int64_t i = 0; i < s_.steps; ++i) {
      has_product_ = i > 0 || a_.initial_state != nullptr;
      if (has_product_) product_();
      const std::int64_t step = s_.at(i);
      s_.for_each_block([&](auto... block) { run(step, block...); });
    }
  }

 private:
  void begin(std::int64_t sample, std::int64_t column, std::int64_t n) {
    const std::int64_t at = sample * s_.hidden + column;
    const bool is_empty = s_.length(a_.lengths, sample) == 0;
    for (std::int64_t i = at; i < at + n; ++i) {
      const float h = a_.initial_state ? float{a_.initial_state[i]} : 0;
      const float c = a_.initial_cell ? float{a_.initial_cell[i]} : 0;
      a_.state[i] = a_.mask ? h * a_.mask[i] : h;
      a_.cell[i] = c;
      if (is_empty && a_.last_hidden) a_.last_hidden[i] = h;
      if (is_empty && a_.last_cell) a_.last_cell[i] = c;
    }
  }

  void run(std::int64_t step, std::int64_t sample, std::int64_t column,
           std::int64_t n) const {
    const std::int64_t state = sample * s_.hidden + column;
    const std::int64_t row = step * s_.samples + sample;
    const std::int64_t at = row * s_.hidden + column;
    const std::int64_t gates = row * kNumLstmGates * s_.hidden + column;
    const std::int64_t length = s_.length(a_.lengths, sample);
    if (step >= length) return skip(at, gates, n);

    GateRow value[kNumLstmGates], old, h;
    float* const c = a_.cell + state;
    std::copy_n(c, n, old);
    for (int q : {kInputGate, kForgetGate, kCellGate, kOutputGate}) {
      const std::int64_t block = gates_.block[q] * s_.hidden;
      float* const u = value[q];
      std::copy_n(a_.x + gates + block, n, u);
      if (has_product_) {
        add(u, a_.product + sample * kNumLstmGates * s_.hidden + block + column,
            n);
      }
      if (q == kOutputGate) update_cell(value, old, c, n);
      if (a_.peephole) {
        const bool reads_new = q == kOutputGate && reads_new_cell_;
        add_product(u, a_.peephole + block + column, reads_new ? c : old, n);
      }
      T* const saved = a_.gates ? a_.gates + gates + block : nullptr;
      const bool saves_result = gates_.gate[q].saves_result;
      if (saved && !saves_result) std::copy_n(u, n, saved);
      gates_.gate[q].activate(u, n);
      if (saved && saves_result) std::copy_n(u, n, saved);
    }
    std::copy_n(c, n, h);
    gates_.cell.activate(h, n);
#pragma omp simd
    for (std::int64_t j = 0; j < n; ++j) h[j] *= value[kOutputGate][j];
    store(step, length, at, state, h, c, n);
  }

  static void add(float* u, const float* x, std::int64_t n) {
#pragma omp simd
    for (std::int64_t j = 0; j < n; ++j) u[j] += x[j];
  }

  static void add_product(float* u, const T* p, const float* c,
                          std::int64_t n) {
#pragma omp simd
    for (std::int64_t j = 0; j < n; ++j) u[j] += p[j] * c[j];
  }

  static void update_cell(const GateRow* value, const float* old, float* c,
                          std::int64_t n) {
    const float *i = value[kInputGate], *f = value[kForgetGate],
                *z = value[kCellGate];
#pragma omp simd
    for (std::int64_t j = 0; j < n; ++j) c[j] = f[j] * old[j] + i[j] * z[j];
  }

  void skip(std::int64_t at, std::int64_t gates, std::int64_t n) const {
    if (a_.hidden) std::fill_n(a_.hidden + at, n, T{});
    if (a_.cells) std::fill_n(a_.cells + at, n, T{});
    if (!a_.gates) return;
    for (int q = 0; q < kNumLstmGates; ++q) {
      std::fill_n(a_.gates + gates + q * s_.hidden, n, T{});
    }
  }

  void store(std::int64_t step, std::int64_t length, std::int64_t at,
             std::int64_t state, const float* h, const float* c,
             std::int64_t n) const {
    T* const next = a_.state + state;
    if (a_.mask) {
      const T* const mask = a_.mask + state;
      for (std::int64_t j = 0; j < n; ++j) next[j] = h[j] * mask[j];
    } else {
      std::copy_n(h, n, next);
    }
    if (a_.hidden) std::copy_n(h, n, a_.hidden + at);
    if (a_.cells) std::copy_n(c, n, a_.cells + at);
    if (step != (s_.is_reverse ? 0 : length - 1)) return;
    if (a_.last_hidden) std::copy_n(h, n, a_.last_hidden + state);
    if (a_.last_cell) std::copy_n(c, n, a_.last_cell + state);
  }

  LstmGates gates_;
  bool reads_new_cell_;
  LstmSteps s_;
  LstmArgs<T> a_;
  BoundStepProduct product_;
  bool has_product_ = false;
};

/// The address of an argument that may be absent.
template <class T>
T* address(std::span<std::byte* const> at, int arg) {
  return arg < 0 ? nullptr : typed<T>(at[arg]);
}

}  // namespace

void lower_lstm(NodeLowering& lowering) {
  enum { kX, kWeights, kState, kCell, kPeephole, kMask, kLengths };
  enum { kHidden, kCells, kGates, kLastHidden, kLastCell };
  const Shape& shape = lowering.input_shape(kX);
  const std::int64_t samples = shape[1];
  const std::int64_t hidden = lowering.input_shape(kWeights)[1];
  const auto& attrs = lowering.attrs<LstmAttrs>();
  const LstmSteps steps{shape[0], samples, hidden, attrs.reverse};
  const DataType type = lowering.input_desc(kX).data_type;

  std::array<int, kLengths + 1> in;
  for (int i = 0; i <= kLengths; ++i) {
    in[i] = lowering.has(i) ? lowering.read(i) : -1;
  }
  std::array<int, kLastCell + 1> out;
  for (int r = 0; r <= kLastCell; ++r) {
    out[r] = lowering.is_used(r) ? lowering.write(r) : -1;
  }
  if (out[kGates] >= 0) lowering.may_run_in_place(kGates, kX);
  const StepProduct product(
      lowering, MatrixView::plain(samples, hidden),
      MatrixView::plain(kNumLstmGates * hidden, hidden).transposed(), type);
  const std::int64_t size = samples * hidden;
  const int products =
      lowering.scratch(checked_bytes<float>(kNumLstmGates * size, "scratch"));
  const int cell = lowering.scratch(checked_bytes<float>(size, "scratch"));
  visit_float_type(lowering, type, [&]<class T>(T) {
    const int state = lowering.scratch(checked_bytes<T>(size, "scratch"));
    lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
      const LstmArgs<T> args{.x = address<T>(at, in[kX]),
                             .initial_state = address<T>(at, in[kState]),
                             .initial_cell = address<T>(at, in[kCell]),
                             .peephole = address<T>(at, in[kPeephole]),
                             .mask = address<T>(at, in[kMask]),
                             .lengths = address<std::int32_t>(at, in[kLengths]),
                             .hidden = address<T>(at, out[kHidden]),
                             .cells = address<T>(at, out[kCells]),
                             .gates = address<T>(at, out[kGates]),
                             .last_hidden = address<T>(at, out[kLastHidden]),
                             .last_cell = address<T>(at, out[kLastCell]),
                             .product = floats(at[products]),
                             .state = typed<T>(at[state]),
                             .cell = floats(at[cell])};
      return LstmForward<T>(
          attrs, steps, args,
          product.bind(at, at[state], at[in[kWeights]], at[products]));
    });
  });
}

}  // namespace traingraph::cpu
