// SPDX-License-Identifier: MIT
// What the cells of recurrent ops have in common. A cell says what one place of
// a step computes, forward and backward; rnn_forward.h and rnn_backward.h walk
// over the steps and make the products.
//
// Forward:
//   begin(place, h)        h: the initial state
//   prepare(place)         between two products of a step, if there are two
//   step(place, h)         sets h, the new state
//   skip(place)            the sample has ended: results other than the states
//   finish(place)          the sample's last step is done, or it has none
// Backward:
//   Rows                   what of a step is held on the stack
//   begin_back(place)      before the first pass
//   restore(place, rows)   from what the forward op saved; returns the state
//   differentiate(place, rows, dh, direct)
//                          gradients of the gates from that of the state;
//                          `direct`: what goes to the state before without a
//                          product
//   reset(place, direct, dmask)
//                          the same after the second product, if there is one
//   skip_back(place)       the sample has ended: gradients other than dx
//   end(place)             after the last pass
//   add_up()               sums over all steps
#pragma once

#include <array>

#include "cpu/ops/rnn_product.h"
#include "cpu/ops/rnn_steps.h"

namespace traingraph::cpu {

template <class T, int kNumGates>
class RecurrentCell {
 public:
  using Element = T;
  static constexpr int kGates = kNumGates;

  RecurrentCell(const UnitBuilder& unit, const RecurrentArguments& args)
      : s_(args.steps()) {
    const auto activations = gate_activations(unit.node().attrs);
    const auto blocks = gate_blocks(unit.node().attrs);
    for (std::size_t q = 0; q < kGates; ++q) {
      gate_[q] = Gate(activations[q]);
      block_[q] = blocks[q];
    }
  }

  /// Gates whose arguments the first product of a step gives; the second one
  /// gives that of the last gate.
  int num_first() const { return kGates; }
  /// Backward: are the states that products have multiplied read as well?
  bool reads_states() const { return false; }
  /// Backward: what goes back through products, as dx; null: dx.
  T* product_gradients() const { return nullptr; }
  /// Backward: what the second products of all steps have multiplied.
  T* second_states() const { return nullptr; }

  /// `product`, `second`: what products give, of all samples.
  void bind(BindContext&, const RecurrentOperands<T>& operands,
            const float* product, const float* second) {
    a_ = operands;
    product_ = product;
    second_ = second;
  }
  void bind_states(BindContext&, T*) {}
  /// Forward: has the next step a state before it, and products?
  void set_has_product(bool has_product) { has_product_ = has_product; }

  void begin(const Place&, const float*) const {}
  void prepare(const Place&) const {}
  void skip(const Place&) const {}
  void finish(const Place&) const {}
  void start_back() const {}
  void begin_back(const Place&) const {}
  void reset(const Place&, float*, float*) const {}
  void skip_back(const Place&) const {}
  void end(const Place&) const {}
  void add_up() const {}

 protected:
  /// The address of a gate's block.
  std::int64_t at(int q, const Place& p) const {
    return p.gates(s_.row(p), kGates, block_[q], s_.hidden);
  }
  /// What the first of `count` blocks' product gives for a gate; null: none.
  const float* product(int q, const Place& p, int count = kGates) const {
    if (!has_product_) return nullptr;
    return product_ + p.gates(p.sample, count, block_[q], s_.hidden);
  }
  /// A gate's argument, from x and u, which may be null.
  void load(int q, const Place& p, const float* u, float* value) const {
    std::copy_n(a_[rnn::Operand::X] + at(q, p), p.n, value);
    add_row(value, u, p.n);
  }
  void activate(int q, const Place& p, float* value) const {
    gate_[q].activate(value, offset(a_[rnn::Operand::Gates], at(q, p)), p.n);
  }

  /// A gate and its slope, from what was saved.
  void restore(int q, const Place& p, float* value, float* slope) const {
    GateRow buffer;
    const T* const saved = a_[rnn::Operand::Gates] + at(q, p);
    gate_[q].restore(floats_of(saved, buffer, p.n), value, slope, p.n);
  }
  /// `d`, the gradient of what a gate gives, becomes that of what it reads,
  /// which goes to dx.
  void finish_gate(int q, const Place& p, float* d, const float* slope) const {
    const T* const more = offset(a_.gradient(rnn::Operand::Gates), at(q, p));
    const bool saves_result = gate_[q].saves_result;
    if (saves_result) add_row(d, more, p.n);
#pragma omp simd
    for (std::int64_t j = 0; j < p.n; ++j) d[j] *= slope[j];
    if (!saves_result) add_row(d, more, p.n);
    std::copy_n(d, p.n, a_.gradient(rnn::Operand::X) + at(q, p));
  }
  /// The row of a sequence of states before a place; null: zeros.
  const T* before(rnn::Operand sequence, rnn::Operand initial,
                  const Place& p) const {
    const std::int64_t row = s_.row_before(p);
    return row < 0 ? offset(a_[initial], p.state)
                   : a_[sequence] + row * s_.hidden + p.column;
  }
  /// Sums over all steps and samples, in a fixed order: add(block, place, sum)
  /// for each place, then store(block, column, n, sums).
  template <class Add, class Store>
  void add_up_steps(int num_blocks, const Add& add, const Store& store) const;

  std::array<Gate, kGates> gate_;
  std::array<int, kGates> block_;
  RecurrentSteps s_;
  RecurrentOperands<T> a_;
  const float* product_ = nullptr;
  const float* second_ = nullptr;
  bool has_product_ = false;
};

template <class T, int kNumGates>
template <class Add, class Store>
void RecurrentCell<T, kNumGates>::add_up_steps(int num_blocks, const Add& add,
                                               const Store& store) const {
  const std::int64_t columns = s_.num_blocks();
  parallel_for(
      num_blocks * columns, /*grain=*/1,
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t column = i % columns * kGateColumns;
          const std::int64_t n = std::min(kGateColumns, s_.hidden - column);
          const int block = static_cast<int>(i / columns);
          double total[kGateColumns] = {};
          for (std::int64_t step = 0; step < s_.steps; ++step) {
            GateRow sum = {};
            for (std::int64_t sample = 0; sample < s_.samples; ++sample) {
              const std::int64_t length = s_.length(a_.lengths, sample);
              if (step >= length) continue;
              const std::int64_t state = sample * s_.hidden + column;
              add(block,
                  Place{step, sample, column, n, length, state,
                        step * s_.size() + state},
                  sum);
            }
            for (std::int64_t j = 0; j < n; ++j) total[j] += sum[j];
          }
          store(block, column, n, total);
        }
      },
      /*multiple=*/1);
}

/// Emits Walk<Cell>, which binds its arguments and then runs.
template <template <class> class Walk, template <class> class Cell>
void emit_recurrent(UnitBuilder& unit) {
  const RecurrentArguments args(unit);
  visit_any_float(unit, args.type(), [&]<class T>(T) {
    const Walk<Cell<T>> walk(unit, args);
    emit(unit, [walk](BindContext& at) -> BoundKernel {
      auto bound = walk;
      bound.bind(at);
      return bound;
    });
  });
}

}  // namespace traingraph::cpu
