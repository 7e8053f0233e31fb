// SPDX-License-Identifier: MIT
// lstm_gradient: the steps of lstm in the opposite order, one pass over the
// gates and one recurrent product each; the gradient of the recurrent weights
// is one product over all steps at the end.
//
// The pass of a step finishes what the product of the pass before has begun,
// whose rows are the gradients of this step's hidden state.
#pragma once

#include <array>
#include <optional>

#include "cpu/float_types.h"
#include "cpu/ops/rnn_gates.h"
#include "cpu/ops/rnn_product.h"

namespace traingraph::cpu {
namespace lstm_gradient {

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

/// Null where an input is absent or a result is not used.
template <class T>
struct GradientArgs {
  std::array<const T*, kNumInputs> in;
  const std::int32_t* lengths;
  std::array<T*, kNumResults> out;
  /// (steps, samples, hidden): what each step's product multiplied; null when
  /// the hidden states are that.
  T* states;
  // (samples, hidden) each
  const float* product;  // of the pass before
  float* dstate;         // of samples that the pass before left out
  float* dcell;
  float* dmask;
};

template <class T>
class LstmBackward {
 public:
  LstmBackward(const LstmAttrs& attrs, const LstmSteps& steps,
               const GradientArgs<T>& args, BoundStepProduct product,
               std::optional<BoundPrimitive> weights_product)
      : gates_(attrs),
        reads_new_cell_(attrs.output_peephole_reads_new_cell),
        s_(steps),
        a_(args),
        product_(std::move(product)),
        weights_product_(std::move(weights_product)),
        needs_last_product_(a_.out[kDInitialState] || a_.out[kDMask]) {}

  void operator()() {
    product_.pack();
    s_.for_each_block([this](auto... block) { begin(block...); });
    for (std::int64_t i = s_.steps - 1; i >= 0; --i) {
      const std::int64_t step = s_.at(i);
      s_.for_each_block([&](auto... block) { run(step, block...); });
      last_step_ = step;
      if (i == 0 && !needs_last_product_) break;
      T* const rows =
          a_.out[kDx] + step * s_.samples * kNumLstmGates * s_.hidden;
      product_.move_x(reinterpret_cast<std::byte*>(rows));
      product_();
    }
    s_.for_each_block([this](auto... block) { end(block...); });
    last_step_ = -1;
    if (a_.out[kDPeephole]) add_up_peephole();
    if (weights_product_) return (*weights_product_)();
    if (!a_.out[kDWeights]) return;  // else: no step has a state before it
    std::fill_n(a_.out[kDWeights], kNumLstmGates * s_.hidden * s_.hidden, T{});
  }

 private:
  /// Address of a row of (steps, samples, hidden).
  std::int64_t row(std::int64_t step, std::int64_t sample) const {
    return (step * s_.samples + sample) * s_.hidden;
  }
  /// `from` as floats, in `buffer` when they are stored otherwise; null: zeros.
  static const float* floats_of(const T* from, float* buffer, std::int64_t n) {
    if constexpr (is_exact<T>) {
      if (from) return from;
    }
    if (from) {
      std::copy_n(from, n, buffer);
    } else {
      std::fill_n(buffer, n, 0.0f);
    }
    return buffer;
  }
  const T* row_of(Input input, std::int64_t at) const {
    return a_.in[input] ? a_.in[input] + at : nullptr;
  }
  static void add(float* sum, const T* x, std::int64_t n) {
    if (!x) return;
    for (std::int64_t j = 0; j < n; ++j) sum[j] += x[j];
  }

  void begin(std::int64_t sample, std::int64_t column, std::int64_t n) const {
    const std::int64_t at = sample * s_.hidden + column;
    for (float* to : {a_.dstate + at, a_.dcell + at}) std::fill_n(to, n, 0.0f);
    add(a_.dstate + at, row_of(kLastHiddenGradient, at), n);
    add(a_.dcell + at, row_of(kLastCellGradient, at), n);
    if (a_.dmask) std::fill_n(a_.dmask + at, n, 0.0f);
  }

  /// Of the state `h` that the step of the pass before went on from: its
  /// gradient goes to `dh`. False when the sample took no part in that step.
  bool finish_last_step(std::int64_t sample, std::int64_t length,
                        std::int64_t column, const float* h, float* dh,
                        std::int64_t n) const {
    if (last_step_ < 0 || last_step_ >= length) return false;
    const std::int64_t at = sample * s_.hidden + column;
    const float* const product = a_.product + at;
    const T* const mask = row_of(kMask, at);
    std::copy_n(product, n, dh);
    if (mask) {
      for (std::int64_t j = 0; j < n; ++j) dh[j] *= mask[j];
    }
    if (a_.dmask) {
      float* const dmask = a_.dmask + at;
      for (std::int64_t j = 0; j < n; ++j) dmask[j] += product[j] * h[j];
    }
    if (!a_.states) return true;
    T* const k = a_.states + row(last_step_, sample) + column;
    std::copy_n(h, n, k);
    if (mask) {
      for (std::int64_t j = 0; j < n; ++j) k[j] = h[j] * mask[j];
    }
    return true;
  }

  void run(std::int64_t step, std::int64_t sample, std::int64_t column,
           std::int64_t n) const {
    const std::int64_t length = s_.length(a_.lengths, sample);
    if (step >= length) return skip(step, sample, length, column, n);
    const std::int64_t at = row(step, sample) + column;
    const std::int64_t gates = row(step, sample) * kNumLstmGates + column;
    const auto block = [&](int q) {
      return gates + gates_.block[q] * s_.hidden;
    };

    GateRow value[kNumLstmGates], slope[kNumLstmGates], buffer;
    for (int q = 0; q < kNumLstmGates; ++q) {
      const float* saved = floats_of(a_.in[kGates] + block(q), buffer, n);
      gates_.gate[q].restore(saved, value[q], slope[q], n);
    }
    GateRow g, dg, h, dh;
    const float* const c = floats_of(a_.in[kCells] + at, buffer, n);
    gates_.cell.differentiate(c, g, dg, n);
    const float* const o = value[kOutputGate];
#pragma omp simd
    for (std::int64_t j = 0; j < n; ++j) h[j] = o[j] * g[j];
    const std::int64_t state = sample * s_.hidden + column;
    if (!finish_last_step(sample, length, column, h, dh, n)) {
      std::copy_n(a_.dstate + state, n, dh);
    }
    add(dh, row_of(kHiddenGradient, at), n);

    // Gradients of the gates take the place of their values, once these are
    // used up.
    GateRow dc;
    float* const carry = a_.dcell + state;
#pragma omp simd
    for (std::int64_t j = 0; j < n; ++j) {
      dc[j] = carry[j] + dh[j] * o[j] * dg[j];
      g[j] *= dh[j];
    }
    add(dc, row_of(kCellsGradient, at), n);
    finish_gate(kOutputGate, block(kOutputGate), g, slope[kOutputGate], n);
    const auto peephole = [&](int q) {
      return a_.in[kPeephole] + gates_.block[q] * s_.hidden + column;
    };
    if (a_.in[kPeephole] && reads_new_cell_) {
      add_product(dc, peephole(kOutputGate), g, n);
    }
    float *i = value[kInputGate], *f = value[kForgetGate],
          *z = value[kCellGate];
    const std::int64_t before = s_.before(step, length);
    const float* const old =
        floats_of(before < 0 ? row_of(kInitialCell, state)
                             : a_.in[kCells] + row(before, sample) + column,
                  buffer, n);
#pragma omp simd
    for (std::int64_t j = 0; j < n; ++j) {
      const float di = dc[j] * z[j], dz = dc[j] * i[j];
      carry[j] = dc[j] * f[j];
      i[j] = di;
      z[j] = dz;
      f[j] = dc[j] * old[j];
    }
    for (int q : {kInputGate, kForgetGate, kCellGate}) {
      finish_gate(q, block(q), value[q], slope[q], n);
      if (a_.in[kPeephole]) add_product(carry, peephole(q), value[q], n);
    }
    if (a_.in[kPeephole] && !reads_new_cell_) {
      add_product(carry, peephole(kOutputGate), g, n);
    }
  }

  static void add_product(float* sum, const T* p, const float* d,
                          std::int64_t n) {
#pragma omp simd
    for (std::int64_t j = 0; j < n; ++j) sum[j] += p[j] * d[j];
  }

  /// `d`, the gradient of what a gate gives, becomes that of what it reads.
  void finish_gate(int q, std::int64_t at, float* d, const float* slope,
                   std::int64_t n) const {
    const T* const more = row_of(kGatesGradient, at);
    const bool saves_result = gates_.gate[q].saves_result;
    if (saves_result) add(d, more, n);
#pragma omp simd
    for (std::int64_t j = 0; j < n; ++j) d[j] *= slope[j];
    if (!saves_result) add(d, more, n);
    std::copy_n(d, n, a_.out[kDx] + at);
  }

  void skip(std::int64_t step, std::int64_t sample, std::int64_t length,
            std::int64_t column, std::int64_t n) const {
    const std::int64_t at = row(step, sample);
    for (int q = 0; q < kNumLstmGates; ++q) {
      std::fill_n(a_.out[kDx] + at * kNumLstmGates + q * s_.hidden + column, n,
                  T{});
    }
    if (a_.states) std::fill_n(a_.states + at + column, n, T{});
    finish_at_start(sample, length, column, n);
  }

  /// The step of the pass before went on from the initial state.
  void finish_at_start(std::int64_t sample, std::int64_t length,
                       std::int64_t column, std::int64_t n) const {
    const std::int64_t state = sample * s_.hidden + column;
    GateRow buffer;
    const float* const h = floats_of(row_of(kInitialState, state), buffer, n);
    finish_last_step(sample, length, column, h, a_.dstate + state, n);
  }

  void end(std::int64_t sample, std::int64_t column, std::int64_t n) const {
    finish_at_start(sample, s_.length(a_.lengths, sample), column, n);
    const std::int64_t at = sample * s_.hidden + column;
    const auto store = [&](Result result, const float* from) {
      if (a_.out[result]) std::copy_n(from + at, n, a_.out[result] + at);
    };
    store(kDInitialState, a_.dstate);
    store(kDInitialCell, a_.dcell);
    store(kDMask, a_.dmask);
  }

  /// The sum over steps and samples of the gates' gradients times the cells
  /// that the peepholes read.
  void add_up_peephole() const {
    const std::int64_t blocks = s_.num_blocks();
    parallel_for(
        kNumLstmGates * blocks, /*grain=*/1,
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t column = i % blocks * kGateColumns;
            add_up_peephole(static_cast<int>(i / blocks), column,
                            std::min(kGateColumns, s_.hidden - column));
          }
        },
        /*multiple=*/1);
  }

  void add_up_peephole(int q, std::int64_t column, std::int64_t n) const {
    const std::int64_t block = gates_.block[q] * s_.hidden + column;
    double total[kGateColumns] = {};
    for (std::int64_t step = 0; step < s_.steps; ++step) {
      GateRow sum = {}, buffer, cell;
      for (std::int64_t sample = 0; sample < s_.samples; ++sample) {
        const std::int64_t length = s_.length(a_.lengths, sample);
        if (step >= length) continue;
        const bool reads_new = q == kOutputGate && reads_new_cell_;
        const std::int64_t read = reads_new ? step : s_.before(step, length);
        const T* const cells =
            read < 0 ? row_of(kInitialCell, sample * s_.hidden + column)
                     : a_.in[kCells] + row(read, sample) + column;
        if (!cells) continue;
        const float* const c = floats_of(cells, buffer, n);
        const float* const d = floats_of(
            a_.out[kDx] + row(step, sample) * kNumLstmGates + block, cell, n);
#pragma omp simd
        for (std::int64_t j = 0; j < n; ++j) sum[j] += d[j] * c[j];
      }
      for (std::int64_t j = 0; j < n; ++j) total[j] += sum[j];
    }
    std::copy_n(total, n, a_.out[kDPeephole] + block);
  }

  LstmGates gates_;
  bool reads_new_cell_;
  LstmSteps s_;
  GradientArgs<T> a_;
  BoundStepProduct product_;
  std::optional<BoundPrimitive> weights_product_;
  bool needs_last_product_;
  std::int64_t last_step_ = -1;
};

}  // namespace lstm_gradient
}  // namespace traingraph::cpu
