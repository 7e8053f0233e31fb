// SPDX-License-Identifier: MIT
// The steps of a recurrent op in the opposite order: one pass over blocks of
// columns and one recurrent product each, or two. Gradients of weights are
// products over all steps at the end.
//
// The pass of a step finishes what the product of the pass before has begun,
// whose rows are the gradients of this step's state.
#pragma once

#include "cpu/ops/rnn_cell.h"

namespace traingraph::cpu {

/// The gradient of rows of the recurrent weights: the sum over all steps of the
/// gates' gradients times the states that the step's product has multiplied.
template <class T>
class WeightsGradient {
 public:
  WeightsGradient() = default;
  /// Rows of `columns` gradients, `row` elements apart.
  WeightsGradient(UnitBuilder& unit, const RecurrentArguments& args,
                  std::int64_t columns, std::int64_t row, bool is_shifted)
      : s_(args.steps()), columns_(columns), row_(row) {
    skipped_ = is_shifted ? s_.samples : 0;
    const std::int64_t rows = s_.steps * s_.samples - skipped_;
    if (rows == 0) return;
    plan_ = make_engine_product(
        unit, MatrixView{rows, columns, row, 1}.transposed(),
        MatrixView::plain(rows, s_.hidden), args.type(), ProductUse::Once);
  }

  void bind(BindContext& at, T* gradients, T* states, T* to) {
    to_ = to;
    if (!plan_) return;
    // Reverse steps go on from the one after.
    gradients += s_.is_reverse ? 0 : skipped_ * row_;
    states += s_.is_reverse ? skipped_ * s_.hidden : 0;
    product_ = plan_->bind(at, bytes(gradients), bytes(states), bytes(to));
  }

  void run() const {
    if (product_) return product_->run();
    if (to_) std::fill_n(to_, columns_ * s_.hidden, T{});
  }

 private:
  RecurrentSteps s_{};
  std::int64_t columns_ = 0, row_ = 0, skipped_ = 0;
  std::shared_ptr<const EngineProduct> plan_;
  std::shared_ptr<BoundProduct> product_;
  T* to_ = nullptr;
};

template <class Cell>
class RecurrentBackward {
 public:
  using T = typename Cell::Element;

  RecurrentBackward(UnitBuilder& unit, const RecurrentArguments& args)
      : args_(args), s_(args.steps()), cell_(unit, args) {
    using enum rnn::Operand;
    const std::int64_t width = Cell::kGates * s_.hidden;
    const std::int64_t first = cell_.num_first() * s_.hidden;
    const auto product_of = [&](std::int64_t columns) {
      return StepProduct(unit, MatrixView{s_.samples, columns, width, 1},
                         MatrixView::plain(columns, s_.hidden), args.type());
    };
    first_ = product_of(first);
    has_second_ = first < width;
    if (has_second_) second_ = product_of(width - first);
    const bool has_weights = args.has_gradient(Weights);
    if (has_weights) {
      weights_ = {unit, args, first, width, args.is_shifted()};
    }
    if (has_weights && has_second_) {
      second_weights_ = {unit, args, width - first, width, false};
    }
    for (int* arg : {&first_arg_, &dstate_arg_}) {
      *arg = scratch_of<float>(unit, s_.size());
    }
    if (has_second_) second_arg_ = scratch_of<float>(unit, s_.size());
    if (args.has_gradient(Mask)) {
      dmask_arg_ = scratch_of<float>(unit, s_.size());
    }
    if (!args.is_shifted() && (has_weights || cell_.reads_states())) {
      states_arg_ = scratch_of<T>(unit, s_.steps * s_.size());
    }
  }

  void bind(BindContext& at);

  void operator()() {
    first_.pack();
    if (has_second_) second_.pack();
    if (states_ && a_[rnn::Operand::Hidden]) fill_states();
    cell_.start_back();
    for_each_place(0, [this](const Place& p) { begin(p); });
    const bool needs_start = a_.gradient(rnn::Operand::InitialState) || dmask_;
    for (std::int64_t i = s_.steps - 1; i >= 0; --i) {
      const std::int64_t step = s_.nth(i);
      for_each_place(step, [this](const Place& p) { run(p); });
      const std::int64_t row = step * s_.samples * Cell::kGates * s_.hidden;
      if (has_second_) {
        second_.run(second_rows_ + row);
        for_each_place(step, [this](const Place& p) { reset(p); });
      }
      last_step_ = step;
      if (i > 0 || needs_start) first_.run(first_rows_ + row);
    }
    for_each_place(0, [this](const Place& p) { end(p); });
    last_step_ = -1;
    cell_.add_up();
    weights_.run();
    second_weights_.run();
  }

 private:
  template <class F>
  void for_each_place(std::int64_t step, F&& f) const {
    s_.for_each_place(step, a_.lengths, f);
  }

  /// Where the sequence is an input, before its steps.
  void fill_states();

  void begin(const Place& p) {
    std::fill_n(dstate_ + p.state, p.n, 0.0f);
    add_row(dstate_ + p.state,
            offset(a_.gradient(rnn::Operand::LastHidden), p.state), p.n);
    if (dmask_) std::fill_n(dmask_ + p.state, p.n, 0.0f);
    cell_.begin_back(p);
  }

  /// Adds to dstate what the product gives of the state `h` that the step of
  /// the pass before went on from.
  void finish_last_step(const Place& p, const float* h) const {
    if (last_step_ < 0 || last_step_ >= p.length) return;
    const float* const product = product_ + p.state;
    const T* const mask = offset(a_[rnn::Operand::Mask], p.state);
    if (mask) {
      add_product_row(dstate_ + p.state, mask, product, p.n);
    } else {
      add_row(dstate_ + p.state, product, p.n);
    }
    if (dmask_) add_product_row(dmask_ + p.state, product, h, p.n);
    if (!fills_states_) return;
    multiply_row(h, mask, states_ + last_step_ * s_.size() + p.state, p.n);
  }

  void run(const Place& p) {
    if (p.step >= p.length) {
      for (int q = 0; q < Cell::kGates; ++q) {
        std::fill_n(a_.gradient(rnn::Operand::X) +
                        p.gates(s_.row(p), Cell::kGates, q, s_.hidden),
                    p.n, T{});
      }
      if (fills_states_) std::fill_n(states_ + p.at, p.n, T{});
      cell_.skip_back(p);
      return finish_at_start(p);
    }
    typename Cell::Rows rows;
    finish_last_step(p, cell_.restore(p, rows));
    GateRow dh;
    std::copy_n(dstate_ + p.state, p.n, dh);
    add_row(dh, offset(a_.gradient(rnn::Operand::Hidden), p.at), p.n);
    cell_.differentiate(p, rows, dh, dstate_ + p.state);
  }

  void reset(const Place& p) {
    if (p.step >= p.length) return;
    cell_.reset(p, dstate_ + p.state, offset(dmask_, p.state));
  }

  /// The step of the pass before went on from the initial state.
  void finish_at_start(const Place& p) const {
    GateRow buffer;
    finish_last_step(
        p, floats_of(offset(a_[rnn::Operand::InitialState], p.state), buffer,
                     p.n));
  }

  void end(const Place& p) {
    finish_at_start(p);
    const auto store = [&](const float* from, rnn::Operand operand) {
      T* const to = offset(a_.gradient(operand), p.state);
      if (to) std::copy_n(from + p.state, p.n, to);
    };
    store(dstate_, rnn::Operand::InitialState);
    store(dmask_, rnn::Operand::Mask);
    cell_.end(p);
  }

  RecurrentArguments args_;
  RecurrentSteps s_;
  Cell cell_;
  StepProduct first_, second_;
  bool has_second_;
  WeightsGradient<T> weights_, second_weights_;
  int first_arg_, second_arg_ = -1, dstate_arg_, dmask_arg_ = -1,
                  states_arg_ = -1;

  RecurrentOperands<T> a_;
  /// (steps, samples, hidden): what each step's product has multiplied.
  T* states_ = nullptr;
  bool fills_states_ = false;  // step by step
  T *first_rows_ = nullptr, *second_rows_ = nullptr;
  // (samples, hidden) each
  const float* product_ = nullptr;  // of the pass before
  float* dstate_ = nullptr;         // of the state, without that product
  float* dmask_ = nullptr;
  std::int64_t last_step_ = -1;
};

template <class Cell>
void RecurrentBackward<Cell>::bind(BindContext& at) {
  using enum rnn::Operand;
  a_ = args_.template bind<T>(at);
  states_ = address<T>(at, states_arg_);
  fills_states_ = states_ && !a_[Hidden];
  product_ = floats(at[first_arg_]);
  dstate_ = floats(at[dstate_arg_]);
  dmask_ = address<float>(at, dmask_arg_);
  cell_.bind(at, a_, product_, address<float>(at, second_arg_));
  T* const multiplied = args_.is_shifted() ? a_[Hidden] : states_;
  cell_.bind_states(at, multiplied);
  const std::int64_t first = cell_.num_first() * s_.hidden;
  T* const own = cell_.product_gradients();
  first_rows_ = own ? own : a_.gradient(X);
  first_.bind(at, first_rows_, a_[Weights], at[first_arg_]);
  T* const dweights = a_.gradient(Weights);
  if (dweights) weights_.bind(at, first_rows_, multiplied, dweights);
  if (!has_second_) return;
  second_rows_ = a_.gradient(X) + first;
  second_.bind(at, second_rows_, a_[Weights] + first * s_.hidden,
               at[second_arg_]);
  if (!dweights) return;
  second_weights_.bind(at, second_rows_, cell_.second_states(),
                       dweights + first * s_.hidden);
}

template <class Cell>
void RecurrentBackward<Cell>::fill_states() {
  using enum rnn::Operand;
  for (std::int64_t step = 0; step < s_.steps; ++step) {
    for_each_place(step, [&](const Place& p) {
      if (p.step >= p.length) {
        std::fill_n(states_ + p.at, p.n, T{});
        return;
      }
      const std::int64_t row = s_.row_before(p);
      const T* const before = row < 0 ? offset(a_[InitialState], p.state)
                                      : a_[Hidden] + row * s_.hidden + p.column;
      GateRow buffer;
      multiply_row(floats_of(before, buffer, p.n), offset(a_[Mask], p.state),
                   states_ + p.at, p.n);
    });
  }
}

}  // namespace traingraph::cpu
