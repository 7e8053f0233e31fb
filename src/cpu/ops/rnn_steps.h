// SPDX-License-Identifier: MIT
// What all recurrent ops share: the order of steps, and the loop over them
// forward. A step is a recurrent product (rnn_product.h) of all samples and one
// pass over blocks of a few columns, in which the cell of the op does the rest.
//
// A Cell has, all for one Place:
//   Element, kProducts     what floats are stored as; products of a step
//   begin(place, h)        h: the initial state
//   step(place, has_product, h)
//                          sets h, the new state; has_product: there was a
//                          state, and the products are computed
//   prepare(place, has_product)
//                          the same before the second product, if there is one
//   skip(place)            the sample has ended: results other than the states
//   finish(place)          the sample's last step is done, or it has none
#pragma once

#include "cpu/ops/rnn_gates.h"
#include "cpu/ops/rnn_product.h"
#include "cpu/parallel.h"

namespace traingraph::cpu {

/// Elements of a cell that are worth waking a thread for: each costs an
/// exponential for every gate.
inline constexpr std::int64_t kCellGrain = kCostlyGrain / 4;

/// Columns [column, column + n) of a sample in a step.
struct Place {
  std::int64_t step, sample, column, n;
  std::int64_t length;  // steps of the sample
  std::int64_t state;   // address in (samples, hidden)
  std::int64_t at;      // address in (steps, samples, hidden)

  /// Address in (steps, samples, gates * hidden) or (samples, gates * hidden).
  std::int64_t gates(std::int64_t row, std::int64_t count, std::int64_t block,
                     std::int64_t hidden) const {
    return (row * count + block) * hidden + column;
  }
};

/// Which steps a sample takes part in, and in which order.
struct RecurrentSteps {
  std::int64_t steps, samples, hidden;
  bool is_reverse;

  /// The step that is done as the i-th.
  std::int64_t nth(std::int64_t i) const {
    return is_reverse ? steps - 1 - i : i;
  }
  /// `lengths` may be null.
  std::int64_t length(const std::int32_t* lengths, std::int64_t sample) const {
    if (!lengths) return steps;
    return std::clamp<std::int64_t>(lengths[sample], 0, steps);
  }
  /// The row of (steps, samples) before a place; -1: the initial state.
  std::int64_t row_before(const Place& p) const {
    const std::int64_t step = is_reverse ? p.step + 1 : p.step - 1;
    return step < 0 || step >= p.length ? -1 : step * samples + p.sample;
  }
  std::int64_t row(const Place& p) const { return p.step * samples + p.sample; }
  /// Is it the last one that its sample takes part in?
  bool is_last(const Place& p) const {
    return p.step == (is_reverse ? 0 : p.length - 1);
  }

  std::int64_t size() const { return samples * hidden; }
  std::int64_t num_blocks() const {
    return (hidden + kGateColumns - 1) / kGateColumns;
  }
  /// Calls f(place) for all blocks of all samples, in parallel.
  template <class F>
  void for_each_place(std::int64_t step, const std::int32_t* lengths,
                      F&& f) const;
};

template <class F>
void RecurrentSteps::for_each_place(std::int64_t step,
                                    const std::int32_t* lengths, F&& f) const {
  const std::int64_t blocks = num_blocks();
  parallel_for(
      samples * blocks, kCellGrain / std::min(hidden, kGateColumns),
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t sample = i / blocks;
          const std::int64_t column = i % blocks * kGateColumns;
          const std::int64_t state = sample * hidden + column;
          f(Place{.step = step,
                  .sample = sample,
                  .column = column,
                  .n = std::min(kGateColumns, hidden - column),
                  .length = length(lengths, sample),
                  .state = state,
                  .at = step * samples * hidden + state});
        }
      },
      /*multiple=*/1);
}

/// Null where an input is absent or a result is not used.
template <class T>
struct ForwardArgs {
  const T *x, *initial_state, *mask;
  const std::int32_t* lengths;
  T *hidden, *gates, *last_hidden;
  float* product;  // (samples, gates * hidden)
  T* state;        // (samples, hidden): what the next product multiplies
};

template <class Cell>
class RecurrentForward {
 public:
  using T = typename Cell::Element;
  using Products = std::array<BoundStepProduct, Cell::kProducts>;

  RecurrentForward(const RecurrentSteps& steps, const ForwardArgs<T>& args,
                   Cell cell, Products products)
      : s_(steps),
        a_(args),
        cell_(std::move(cell)),
        products_(std::move(products)) {}

  void operator()() {
    for (const BoundStepProduct& product : products_) product.pack();
    for_each_place(0, [this](const Place& p) { begin(p); });
    for (std::int64_t i = 0; i < s_.steps; ++i) {
      const bool has_product = i > 0 || a_.initial_state != nullptr;
      if (has_product) products_.front()();
      if constexpr (Cell::kProducts > 1) {
        for_each_place(s_.nth(i), [&](const Place& p) {
          if (p.step < p.length) cell_.prepare(p, has_product);
        });
        if (has_product) products_.back()();
      }
      for_each_place(s_.nth(i), [&](const Place& p) { run(p, has_product); });
    }
  }

 private:
  template <class F>
  void for_each_place(std::int64_t step, F&& f) const {
    s_.for_each_place(step, a_.lengths, f);
  }

  void begin(const Place& p) {
    GateRow buffer;
    const float* const h =
        floats_of(offset(a_.initial_state, p.state), buffer, p.n);
    multiply_row(h, offset(a_.mask, p.state), a_.state + p.state, p.n);
    cell_.begin(p, h);
    if (p.length == 0) finish(p, h);
  }

  void run(const Place& p, bool has_product) {
    if (p.step >= p.length) {
      if (a_.hidden) std::fill_n(a_.hidden + p.at, p.n, T{});
      if (a_.gates) skip_gates(p);
      return cell_.skip(p);
    }
    GateRow h;
    cell_.step(p, has_product, h);
    multiply_row(h, offset(a_.mask, p.state), a_.state + p.state, p.n);
    if (a_.hidden) std::copy_n(h, p.n, a_.hidden + p.at);
    if (s_.is_last(p)) finish(p, h);
  }

  void skip_gates(const Place& p) const {
    for (int q = 0; q < Cell::kGates; ++q) {
      std::fill_n(a_.gates + p.gates(s_.row(p), Cell::kGates, q, s_.hidden),
                  p.n, T{});
    }
  }

  void finish(const Place& p, const float* h) {
    if (a_.last_hidden) std::copy_n(h, p.n, a_.last_hidden + p.state);
    cell_.finish(p);
  }

  RecurrentSteps s_;
  ForwardArgs<T> a_;
  Cell cell_;
  Products products_;
};

}  // namespace traingraph::cpu
