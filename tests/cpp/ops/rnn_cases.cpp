// SPDX-License-Identifier: MIT
// Cases of the recurrent ops and their gradient ops: every option, and every
// option with every other one.
#include <algorithm>
#include <functional>
#include <set>
#include <tuple>
#include <vector>

#include "ops/cases.h"
#include "ops/rnn_gates.h"
#include "ops/rnn_ops.h"

namespace traingraph::testing {
namespace {

using rnn::Operand;
using enum rnn::Operand;

constexpr const char* kReason =
    "a recurrence in float32: each step adds the rounding of those before";
constexpr double kRecurrentTolerance = 2e-5;

struct RecurrentCase {
  Attributes attrs = {};
  std::set<Operand> given = {};  // besides x, the weights and lengths
  std::vector<double> lengths = {};
};
using Option = std::function<void(RecurrentCase&)>;

OpKind kind_of(const Attributes& attrs) {
  if (std::holds_alternative<LstmAttrs>(attrs)) return OpKind::LstmSteps;
  if (std::holds_alternative<GruAttrs>(attrs)) return OpKind::GruSteps;
  return OpKind::SingleGateSteps;
}

Domain domain_of(Operand operand) {
  switch (operand) {
    case X:
      return uniform(-2, 2);
    case Weights:
      return uniform(-0.7, 0.7);
    case Peephole:
    case SecondaryBias:
      return uniform(-0.5, 0.5);
    case Mask:
      return values({0, 1.25, 0.5});
    default:
      return uniform();
  }
}

/// An input of the op of all steps.
CaseInput input_of(const RecurrentCase& c, Operand operand,
                   const Shape& shape) {
  if (operand == Lengths) {
    if (c.lengths.empty()) return absent();
    return {shape, values(c.lengths), DataType::Int32};
  }
  // A secondary bias is part of what a reset gate behind it multiplies.
  const auto* gru = std::get_if<GruAttrs>(&c.attrs);
  const bool is_refused = operand == SecondaryBias && !gru->reset_after;
  const bool is_there =
      operand == X || operand == Weights || c.given.contains(operand);
  if (!is_there || is_refused) return absent();
  return {shape, domain_of(operand)};
}

/// A result of the case's op, for inputs of its gradient op.
Domain result_of(const OpCase& forward, int result) {
  return [=](const Shape&, const RefTensors&, Random&) {
    Random same(17);
    RefTensors in;
    for (const CaseInput& input : forward.inputs) {
      in.push_back(input.shape.empty() ? RefTensor{}
                                       : input.domain(input.shape, in, same));
      for (double& e : in.back().data) e = static_cast<float>(e);
    }
    return evaluate(forward.op, forward.attrs, in).at(result);
  };
}

/// The gradient op by itself: with all gradients, as a network has it whose
/// loss is that of the last states, as one that reads the sequence, and as one
/// that computes the hidden states again, where it can. Gates and cells are
/// those of some sequence, the hidden states follow from them.
void add_gradients(OpCases& cases, const OpCase& forward,
                   const rnn::Sizes& sizes) {
  const rnn::Op& steps = rnn::op_of(forward.op);
  const rnn::Op& op = rnn::op_of(steps.gradient);
  OpCase gradient{.op = op.kind,
                  .attrs = forward.attrs,
                  .tolerance = kRecurrentTolerance,
                  .reason = kReason};
  for (const auto& [operand, is_gradient] : op.inputs) {
    const Shape shape = rnn::shape_of(operand, sizes, op.num_gates);
    const int own = steps.input(operand);
    gradient.inputs.push_back(
        is_gradient ? CaseInput{shape}
        : own >= 0
            ? forward.inputs[static_cast<std::size_t>(own)]
            : CaseInput{shape, result_of(forward, steps.result(operand))});
  }
  const auto without = [&](const std::set<Operand>& gradients) {
    OpCase fewer = gradient;
    for (Operand operand : gradients) {
      const int i = op.input(operand, /*is_gradient=*/true);
      if (i >= 0) fewer.inputs[static_cast<std::size_t>(i)] = absent();
    }
    return fewer;
  };
  cases.push_back(gradient);
  cases.push_back(without({Hidden, Cells, Gates}));
  cases.push_back(without({Cells, Gates, LastHidden, LastCell}));
  if (op.input(Cells) < 0) return;
  cases.push_back(cases.back());
  cases.back().inputs[static_cast<std::size_t>(op.input(Hidden))] = absent();
}

/// The case, and one with lengths of all steps, which mean the same: the Metal
/// device composes that one of plain ops. `size`: (steps, samples, hidden).
void add(OpCases& cases, const Shape& size, const RecurrentCase& c,
         bool adds_gradients = true) {
  const rnn::Op& op = rnn::op_of(kind_of(c.attrs));
  const rnn::Sizes sizes{size[0], size[1], size[2]};
  OpCase forward{.op = op.kind,
                 .attrs = c.attrs,
                 .tolerance = kRecurrentTolerance,
                 .gradient_tolerance = 4 * kRecurrentTolerance,
                 .reason = kReason};
  for (const rnn::Slot& slot : op.inputs) {
    const Shape shape = rnn::shape_of(slot.operand, sizes, op.num_gates);
    forward.inputs.push_back(input_of(c, slot.operand, shape));
    if (slot.operand != Lengths && !forward.inputs.back().shape.empty()) {
      forward.gradients.push_back(static_cast<int>(forward.inputs.size()) - 1);
    }
  }
  cases.push_back(forward);
  if (c.lengths.empty()) {
    cases.push_back(forward);
    cases.back().inputs.back() = {
        {size[1]}, values({static_cast<double>(size[0])}), DataType::Int32};
  }
  if (adds_gradients) add_gradients(cases, forward, sizes);
}

/// The cases of no option, of each, and of each pair.
void add_pairs(OpCases& cases, const RecurrentCase& base,
               const std::vector<Option>& options) {
  const Shape size{3, 3, 2};
  add(cases, size, base);
  for (std::size_t i = 0; i < options.size(); ++i) {
    RecurrentCase one = base;
    options[i](one);
    add(cases, size, one);
    for (std::size_t j = 0; j < i; ++j) {
      RecurrentCase two = base;
      options[i](two);
      options[j](two);
      add(cases, size, two, /*adds_gradients=*/false);
    }
  }
}

template <class Attrs>
Option on(bool Attrs::* option) {
  return [=](RecurrentCase& c) { std::get<Attrs>(c.attrs).*option = true; };
}
Option given(Operand operand) {
  return [=](RecurrentCase& c) { c.given.insert(operand); };
}
Option both(const Option& x, const Option& y) {
  return [=](RecurrentCase& c) {
    x(c);
    y(c);
  };
}
void set_lengths(RecurrentCase& c) { c.lengths = {2, 3, 0}; }

/// Sets the activation of a gate, or of an LSTM's cell, which is the last one.
void set_activation(Attributes& attrs, int gate, const ActivationAttrs& f) {
  const auto set = [&](ActivationType& type, float& a, float& b) {
    if (gate-- == 0) std::tie(type, a, b) = std::tie(f.type, f.a, f.b);
  };
  if (auto* s = std::get_if<LstmAttrs>(&attrs)) {
    set(s->input_gate_activation, s->input_gate_a, s->input_gate_b);
    set(s->forget_gate_activation, s->forget_gate_a, s->forget_gate_b);
    set(s->cell_gate_activation, s->cell_gate_a, s->cell_gate_b);
    set(s->output_gate_activation, s->output_gate_a, s->output_gate_b);
    set(s->activation, s->activation_a, s->activation_b);
  } else if (auto* s = std::get_if<GruAttrs>(&attrs)) {
    set(s->update_gate_activation, s->update_gate_a, s->update_gate_b);
    set(s->reset_gate_activation, s->reset_gate_a, s->reset_gate_b);
    set(s->output_gate_activation, s->output_gate_a, s->output_gate_b);
  } else if (auto* s = std::get_if<SingleGateAttrs>(&attrs)) {
    set(s->activation, s->activation_a, s->activation_b);
  }
}

Attributes with_activations(Attributes attrs,
                            const std::vector<ActivationAttrs>& all) {
  for (int gate = 0; gate < std::ssize(all); ++gate) {
    set_activation(attrs, gate, all[static_cast<std::size_t>(gate)]);
  }
  return attrs;
}

/// MPSGraph's five for each gate; their kinks are rare enough.
void add_activations(std::vector<Option>& options, int num_activations) {
  using enum ActivationType;
  for (int gate = 0; gate < num_activations; ++gate) {
    for (const ActivationAttrs& f :
         std::vector<ActivationAttrs>{{None},
                                      {ReLU, 0},
                                      {Tanh, 1, 1},
                                      {Sigmoid},
                                      {HardSigmoid, 0.2f, 0.5f}}) {
      options.push_back(
          [=](RecurrentCase& c) { set_activation(c.attrs, gate, f); });
    }
  }
}

// Others: with parameters, and saved as arguments.
const std::vector<ActivationAttrs>& more_activations() {
  using enum ActivationType;
  static const std::vector<ActivationAttrs> all{
      {ReLU, -0.5f}, {Tanh, 0.8f, 1.3f}, {SoftPlus, 1, 1}, {GELU}};
  return all;
}

Shape random_size(Random& random) {
  const std::int64_t steps = pick(random, 1, 6), samples = pick(random, 1, 4);
  return {steps, samples, pick(random, 1, 6)};
}

void pick_lengths(Random& random, const Shape& size, RecurrentCase& c) {
  for (std::int64_t n = 0; n < size[1]; ++n) {
    c.lengths.push_back(static_cast<double>(pick(random, 0, size[0])));
  }
}

/// Picks the options of a GRU or of a vanilla RNN.
void pick_options(Random& random, const Shape& size, RecurrentCase& c) {
  if (pick(random, 0, 1) == 1) c.given.insert(InitialState);
  if (pick(random, 0, 2) == 1) c.given.insert(Mask);
  if (pick(random, 0, 1) == 1) c.given.insert(SecondaryBias);
  if (pick(random, 0, 1) == 1) pick_lengths(random, size, c);
}

}  // namespace

void add_rnn_cases(OpCases& cases, Random& random) {
  using enum ActivationType;
  using A = LstmAttrs;
  std::vector<Option> options{
      on(&A::reverse),
      on(&A::forget_gate_last),
      given(InitialState),
      given(InitialCell),
      given(Peephole),
      both(given(Peephole), on(&A::output_peephole_reads_new_cell)),
      given(Mask),
      set_lengths};
  add_activations(options, 5);
  add_pairs(cases, {A{}}, options);
  for (bool reverse : {false, true}) {
    const A attrs{.reverse = reverse};
    for (const Shape& size : {Shape{1, 1, 1}, Shape{2, 1, 1}, Shape{3, 2, 5},
                              Shape{1, 3, 4}, Shape{5, 4, 3}, Shape{4, 1, 7}}) {
      add(cases, size, {attrs});
      add(cases, size, {attrs, {InitialState, InitialCell}});
    }
    const Shape size{4, 3, 3};
    for (Operand operand : {InitialState, InitialCell, Peephole, Mask}) {
      add(cases, size, {attrs, {operand}});
    }
    add(cases, size, {attrs, {}, {4, 1, 2}});
    add(cases, size, {attrs, {}, {3, 0, 9}});  // none, too many
    for (bool reads_new_cell : {false, true}) {
      const A with_peephole{.reverse = reverse,
                            .forget_gate_last = reads_new_cell,
                            .output_peephole_reads_new_cell = reads_new_cell};
      add(cases, size,
          {with_peephole,
           {InitialState, InitialCell, Peephole, Mask},
           {1, 4, 3}});
      add(cases, size, {with_peephole, {Peephole}, {2, 3, 0}});
    }
    add(cases, size, {A{.reverse = reverse, .forget_gate_last = true}});
  }
  // More columns than one block.
  add(cases, {2, 2, 131}, {A{}, {Peephole}});
  // Every kind of activation; those without kinks, which differences miss.
  const ActivationAttrs sigmoid{Sigmoid}, tanh{Tanh, 1, 1};
  for (const ActivationAttrs& f :
       std::vector<ActivationAttrs>{{None},
                                    {Linear, 0.5f, 0.1f},
                                    {Tanh, 0.8f, 1.3f},
                                    {Sigmoid},
                                    {SoftPlus, 1, 1},
                                    {SoftSign},
                                    {LogSigmoid},
                                    {GELU},
                                    {GELUTanh},
                                    {TanhShrink},
                                    {HardSigmoid, 0.05f, 0.5f},
                                    {CELU, 1.0f}}) {
    add(cases, {3, 2, 3},
        {with_activations(A{}, {f, sigmoid, tanh, f, f}), {Peephole}});
    add(cases, {3, 2, 3},
        {with_activations(A{}, {sigmoid, f, f, sigmoid, tanh})});
  }
  for (int i = 0; i < 6; ++i) {
    const Shape size = random_size(random);
    RecurrentCase c{A{.reverse = i % 2 == 0}};
    if (i % 2 == 0) c.given.insert(InitialState);
    if (i % 3 != 0) c.given.insert(InitialCell);
    if (i % 2 == 1) c.given.insert(Peephole);
    if (i % 3 == 1) c.given.insert(Mask);
    if (i > 2) pick_lengths(random, size, c);
    add(cases, size, c);
  }
}

void add_gru_cases(OpCases& cases, Random& random) {
  using A = GruAttrs;
  const A base{.reset_gate_first = false, .reset_after = false};
  const A after{.reset_after = true};
  std::vector<Option> options{on(&A::reverse),
                              on(&A::reset_gate_first),
                              on(&A::reset_after),
                              on(&A::flip_z),
                              given(InitialState),
                              given(Mask),
                              both(on(&A::reset_after), given(SecondaryBias)),
                              set_lengths};
  add_activations(options, 3);
  add_pairs(cases, {base}, options);
  for (const ActivationAttrs& f : more_activations()) {
    A attrs = base;
    for (bool reset_after : {false, true}) {
      attrs.reset_after = reset_after;
      add(cases, {3, 2, 2}, {with_activations(attrs, {f, f, f})});
    }
  }
  add(cases, {1, 1, 1}, {base});
  add(cases, {1, 2, 3}, {after});
  // More columns than one block.
  add(cases, {2, 2, 131}, {base, {InitialState}});
  add(cases, {2, 2, 131}, {after, {SecondaryBias}});
  for (int i = 0; i < 8; ++i) {
    const Shape size = random_size(random);
    RecurrentCase c{base};
    pick_options(random, size, c);
    A& attrs = std::get<A>(c.attrs);
    for (bool* option : {&attrs.reverse, &attrs.reset_gate_first,
                         &attrs.reset_after, &attrs.flip_z}) {
      *option = pick(random, 0, 1) == 1;
    }
    add(cases, size, c);
  }
}

void add_single_gate_cases(OpCases& cases, Random& random) {
  using A = SingleGateAttrs;
  const A base{.activation = ActivationType::ReLU};
  std::vector<Option> options{on(&A::reverse), given(InitialState), given(Mask),
                              set_lengths};
  add_activations(options, 1);
  add_pairs(cases, {base}, options);
  for (const ActivationAttrs& f : more_activations()) {
    add(cases, {3, 2, 2}, {with_activations(base, {f})});
  }
  add(cases, {1, 1, 1}, {base});
  add(cases, {2, 2, 131}, {base, {InitialState}});
  for (int i = 0; i < 4; ++i) {
    const Shape size = random_size(random);
    RecurrentCase c{A{.reverse = i % 2 == 0, .activation = base.activation}};
    pick_options(random, size, c);
    add(cases, size, c);
  }
}

}  // namespace traingraph::testing
