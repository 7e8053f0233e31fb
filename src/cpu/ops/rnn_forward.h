// SPDX-License-Identifier: MIT
// The steps of a recurrent op: in each a recurrent product of all samples, or
// two, and one pass over blocks of a few columns, in which the cell does the
// rest.
#pragma once

#include "cpu/ops/rnn_cell.h"

namespace traingraph::cpu {

template <class Cell>
class RecurrentForward {
 public:
  using T = typename Cell::Element;

  RecurrentForward(UnitBuilder& unit, const RecurrentArguments& args)
      : args_(args), s_(args.steps()), cell_(unit, args) {
    const auto product_of = [&](std::int64_t gates) {
      return StepProduct(
          unit, MatrixView::plain(s_.samples, s_.hidden),
          MatrixView::plain(gates * s_.hidden, s_.hidden).transposed(),
          args.type());
    };
    const std::int64_t num_first = cell_.num_first();
    first_ = product_of(num_first);
    first_arg_ = scratch_of<float>(unit, num_first * s_.size());
    state_arg_ = scratch_of<T>(unit, s_.size());
    if (num_first == Cell::kGates) return;
    second_ = product_of(1);
    second_arg_ = scratch_of<float>(unit, s_.size());
  }

  void bind(BindContext& at) {
    a_ = args_.template bind<T>(at);
    state_ = typed<T>(at[state_arg_]);
    T* const weights = a_[rnn::Operand::Weights];
    first_.bind(at, state_, weights, at[first_arg_]);
    if (second_arg_ >= 0) {
      const std::int64_t rows = cell_.num_first() * s_.hidden;
      second_.bind(at, state_, weights + rows * s_.hidden, at[second_arg_]);
    }
    cell_.bind(at, a_, floats(at[first_arg_]), address<float>(at, second_arg_));
    cell_.bind_states(at, state_);
  }

  void operator()() {
    first_.pack();
    if (second_arg_ >= 0) second_.pack();
    for_each_place(0, [this](const Place& p) { begin(p); });
    for (std::int64_t i = 0; i < s_.steps; ++i) {
      const bool has_product = i > 0 || a_[rnn::Operand::InitialState];
      cell_.set_has_product(has_product);
      if (has_product) first_.run();
      if (second_arg_ >= 0) {
        for_each_place(s_.nth(i), [this](const Place& p) {
          if (p.step < p.length) cell_.prepare(p);
        });
        if (has_product) second_.run();
      }
      for_each_place(s_.nth(i), [this](const Place& p) { run(p); });
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
        floats_of(offset(a_[rnn::Operand::InitialState], p.state), buffer, p.n);
    set_state(p, h);
    cell_.begin(p, h);
    if (p.length == 0) finish(p, h);
  }

  void run(const Place& p) {
    T* const hidden = offset(a_[rnn::Operand::Hidden], p.at);
    if (p.step >= p.length) {
      if (hidden) std::fill_n(hidden, p.n, T{});
      skip_gates(p);
      return cell_.skip(p);
    }
    GateRow h;
    cell_.step(p, h);
    set_state(p, h);
    if (hidden) std::copy_n(h, p.n, hidden);
    if (s_.is_last(p)) finish(p, h);
  }

  /// What the next product multiplies.
  void set_state(const Place& p, const float* h) const {
    multiply_row(h, offset(a_[rnn::Operand::Mask], p.state), state_ + p.state,
                 p.n);
  }

  void skip_gates(const Place& p) const {
    T* const gates = a_[rnn::Operand::Gates];
    for (int q = 0; gates && q < Cell::kGates; ++q) {
      std::fill_n(gates + p.gates(s_.row(p), Cell::kGates, q, s_.hidden), p.n,
                  T{});
    }
  }

  void finish(const Place& p, const float* h) {
    T* const last = offset(a_[rnn::Operand::LastHidden], p.state);
    if (last) std::copy_n(h, p.n, last);
    cell_.finish(p);
  }

  RecurrentArguments args_;
  RecurrentSteps s_;
  Cell cell_;
  StepProduct first_, second_;
  int first_arg_, second_arg_ = -1, state_arg_;
  RecurrentOperands<T> a_;
  T* state_ = nullptr;  // (samples, hidden)
};

}  // namespace traingraph::cpu
