// SPDX-License-Identifier: MIT
// The steps of a recurrent op in the opposite order: one pass over blocks of
// columns and one recurrent product each. Gradients of weights are products
// over all steps at the end.
//
// The pass of a step finishes what the product of the pass before has begun,
// whose rows are the gradients of this step's state.
//
// A Cell has, all for one Place:
//   Element, kGates        what floats are stored as; number of gates
//   Rows                   what of a step it holds on the stack
//   begin(place)           before the first pass
//   restore(place, rows)   from what the forward op saved; returns the state
//   differentiate(place, rows, dh, direct)
//                          gradients of the gates from that of the state;
//                          `direct`: what goes to the state before without a
//                          product
//   reset(place, direct, dmask)
//                          with kHasInnerProduct, after that product
//   skip(place)            the sample has ended: gradients other than dx
//   end(place)             after the last pass
//   add_up()               sums over all steps
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "cpu/ops/rnn_steps.h"

namespace traingraph::cpu {

/// Null where an input is absent or a result is not used.
template <class T>
struct BackwardArgs {
  const T *gates, *initial_state, *mask;
  const std::int32_t* lengths;
  const T *hidden_gradient, *gates_gradient, *last_hidden_gradient;
  T *dx, *dinitial_state, *dmask;
  /// (steps, samples, hidden), to be filled with what each step's product has
  /// multiplied.
  T* states;
  // (samples, hidden) each
  const float* product;  // of the pass before
  float* dstate;         // of the state, without that product
  float* dmask_sum;
};

/// `d`, the gradient of what a gate gives, becomes that of what it reads, which
/// goes to address `at` of dx.
template <class T>
void finish_gate(const Gate& gate, const BackwardArgs<T>& a, std::int64_t at,
                 float* d, const float* slope, std::int64_t n) {
  const T* const more = offset(a.gates_gradient, at);
  if (gate.saves_result) add_row(d, more, n);
#pragma omp simd
  for (std::int64_t j = 0; j < n; ++j) d[j] *= slope[j];
  if (!gate.saves_result) add_row(d, more, n);
  std::copy_n(d, n, a.dx + at);
}

/// The recurrent products of a gradient op. Rows of `main` are at `rows`, those
/// of `inner` at `inner_rows`, one step `stride` elements after the other.
template <class T>
struct BackwardProducts {
  BoundStepProduct main;
  T* rows;
  std::optional<BoundStepProduct> inner;
  T* inner_rows = nullptr;
  std::int64_t stride;
  std::vector<std::shared_ptr<BoundProduct>> weights;  // at the end
  /// The weights' gradient where no step has a state before it.
  std::span<T> zeros = {};

  void pack() const {
    main.pack();
    if (inner) inner->pack();
  }
};

/// Sums over all steps and samples, in a fixed order: add(block, place, sum)
/// for each place, then store(block, column, n, sums).
template <class Add, class Store>
void add_up_steps(const RecurrentSteps& s, const std::int32_t* lengths,
                  int num_blocks, const Add& add, const Store& store) {
  const std::int64_t columns = s.num_blocks();
  parallel_for(
      num_blocks * columns, /*grain=*/1,
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t column = i % columns * kGateColumns;
          const std::int64_t n = std::min(kGateColumns, s.hidden - column);
          const int block = static_cast<int>(i / columns);
          double total[kGateColumns] = {};
          for (std::int64_t step = 0; step < s.steps; ++step) {
            GateRow sum = {};
            for (std::int64_t sample = 0; sample < s.samples; ++sample) {
              const std::int64_t length = s.length(lengths, sample);
              if (step >= length) continue;
              const std::int64_t state = sample * s.hidden + column;
              add(block,
                  Place{step, sample, column, n, length, state,
                        step * s.size() + state},
                  sum);
            }
            for (std::int64_t j = 0; j < n; ++j) total[j] += sum[j];
          }
          store(block, column, n, total);
        }
      },
      /*multiple=*/1);
}

template <class Cell>
class RecurrentBackward {
 public:
  using T = typename Cell::Element;

  RecurrentBackward(const RecurrentSteps& steps, const BackwardArgs<T>& args,
                    Cell cell, BackwardProducts<T> products)
      : s_(steps),
        a_(args),
        cell_(std::move(cell)),
        products_(std::move(products)) {}

  void operator()() {
    products_.pack();
    for_each_place(0, [this](const Place& p) { begin(p); });
    for (std::int64_t i = s_.steps - 1; i >= 0; --i) {
      const std::int64_t step = s_.nth(i);
      for_each_place(step, [this](const Place& p) { run(p); });
      if constexpr (Cell::kHasInnerProduct) {
        multiply(*products_.inner, products_.inner_rows, step);
        for_each_place(step, [this](const Place& p) { reset(p); });
      }
      last_step_ = step;
      if (i == 0 && !a_.dinitial_state && !a_.dmask) break;
      multiply(products_.main, products_.rows, step);
    }
    for_each_place(0, [this](const Place& p) { end(p); });
    last_step_ = -1;
    cell_.add_up();
    for (const auto& product : products_.weights) product->run();
    std::ranges::fill(products_.zeros, T{});
  }

 private:
  template <class F>
  void for_each_place(std::int64_t step, F&& f) const {
    s_.for_each_place(step, a_.lengths, f);
  }

  void multiply(BoundStepProduct& product, T* rows, std::int64_t step) const {
    product.move_x(
        reinterpret_cast<std::byte*>(rows + step * products_.stride));
    product();
  }

  void begin(const Place& p) {
    std::fill_n(a_.dstate + p.state, p.n, 0.0f);
    add_row(a_.dstate + p.state, offset(a_.last_hidden_gradient, p.state), p.n);
    if (a_.dmask) std::fill_n(a_.dmask_sum + p.state, p.n, 0.0f);
    cell_.begin(p);
  }

  /// Of the state `h` that the step of the pass before went on from: what its
  /// product gives is added to dstate.
  void finish_last_step(const Place& p, const float* h) const {
    if (last_step_ < 0 || last_step_ >= p.length) return;
    const float* const product = a_.product + p.state;
    const T* const mask = offset(a_.mask, p.state);
    float* const dstate = a_.dstate + p.state;
    if (mask) {
      add_product_row(dstate, mask, product, p.n);
    } else {
      add_row(dstate, product, p.n);
    }
    if (a_.dmask) add_product_row(a_.dmask_sum + p.state, product, h, p.n);
    if (!a_.states) return;
    T* const states = a_.states + last_step_ * s_.size() + p.state;
    multiply_row(h, mask, states, p.n);
  }

  void run(const Place& p) {
    if (p.step >= p.length) {
      for (int q = 0; q < Cell::kGates; ++q) {
        std::fill_n(a_.dx + p.gates(s_.row(p), Cell::kGates, q, s_.hidden), p.n,
                    T{});
      }
      if (a_.states) std::fill_n(a_.states + p.at, p.n, T{});
      cell_.skip(p);
      return finish_at_start(p);
    }
    typename Cell::Rows rows;
    finish_last_step(p, cell_.restore(p, rows));
    GateRow dh;
    float* const dstate = a_.dstate + p.state;
    std::copy_n(dstate, p.n, dh);
    add_row(dh, offset(a_.hidden_gradient, p.at), p.n);
    cell_.differentiate(p, rows, dh, dstate);
  }

  void reset(const Place& p) {
    if (p.step >= p.length) return;
    cell_.reset(p, a_.dstate + p.state,
                a_.dmask ? a_.dmask_sum + p.state : nullptr);
  }

  /// The step of the pass before went on from the initial state.
  void finish_at_start(const Place& p) const {
    GateRow buffer;
    finish_last_step(p,
                     floats_of(offset(a_.initial_state, p.state), buffer, p.n));
  }

  void end(const Place& p) {
    finish_at_start(p);
    if (a_.dinitial_state) {
      std::copy_n(a_.dstate + p.state, p.n, a_.dinitial_state + p.state);
    }
    if (a_.dmask) {
      std::copy_n(a_.dmask_sum + p.state, p.n, a_.dmask + p.state);
    }
    cell_.end(p);
  }

  RecurrentSteps s_;
  BackwardArgs<T> a_;
  Cell cell_;
  BackwardProducts<T> products_;
  std::int64_t last_step_ = -1;
};

}  // namespace traingraph::cpu
