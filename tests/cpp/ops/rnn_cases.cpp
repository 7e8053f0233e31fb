// SPDX-License-Identifier: MIT
// Cases of lstm_steps and its gradient op: every option, and every option with
// every other one.
#include "ops/rnn_cases.h"

namespace traingraph::testing {
namespace {

/// What a case has besides x and the weights.
struct Options {
  bool has_state = false, has_cell = false, has_peephole = false;
  bool has_mask = false;
  std::vector<double> lengths = {};
};

struct LstmCase {
  LstmAttrs attrs = {};
  Options options = {};
};

/// (steps, samples, hidden)
void add_lstm(OpCases& cases, const Shape& size, const LstmAttrs& attrs,
              const Options& options, bool adds_gradients = true) {
  const std::int64_t samples = size[1], hidden = size[2];
  const Shape x{size[0], samples, 4 * hidden}, state{samples, hidden};
  const CaseInput weights{{4 * hidden, hidden}, uniform(-0.7, 0.7)};
  const CaseInput h0 = maybe(options.has_state, state, uniform());
  const CaseInput c0 = maybe(options.has_cell, state, uniform());
  const CaseInput peephole =
      maybe(options.has_peephole, {4 * hidden}, uniform(-0.5, 0.5));
  const CaseInput mask = maybe(options.has_mask, state, values({0, 1.25, 0.5}));
  const CaseInput lengths = lengths_input(options.lengths, samples);
  const OpCase forward = recurrent_case(
      OpKind::LstmSteps, attrs,
      {{x, uniform(-2, 2)}, weights, h0, c0, peephole, mask, lengths});
  add_both(cases, forward, size);
  if (!adds_gradients) return;
  // Gates and cells are those of some sequence, the hidden states follow from
  // them.
  const OpCase gradient{.op = OpKind::LstmStepsGradient,
                        .attrs = attrs,
                        .inputs = {{x, result_of(forward, 2)},
                                   {size, result_of(forward, 1)},
                                   {size, result_of(forward, 0)},
                                   weights,
                                   h0,
                                   c0,
                                   peephole,
                                   mask,
                                   lengths,
                                   {size},
                                   {size},
                                   {x},
                                   {state},
                                   {state}}};
  add_gradients(cases, gradient, /*first=*/9, /*sequence=*/3);
  // As a network keeps it that computes the hidden states again.
  cases.push_back(cases.back());
  cases.back().inputs[2] = absent();
}

/// An activation of each of the gates, and of the cell.
void set_activation(LstmAttrs& attrs, int gate, const ActivationAttrs& f) {
  const auto set = [&](ActivationType& type, float& a, float& b) {
    type = f.type;
    a = f.a;
    b = f.b;
  };
  switch (gate) {
    case 0:
      return set(attrs.input_gate_activation, attrs.input_gate_a,
                 attrs.input_gate_b);
    case 1:
      return set(attrs.forget_gate_activation, attrs.forget_gate_a,
                 attrs.forget_gate_b);
    case 2:
      return set(attrs.cell_gate_activation, attrs.cell_gate_a,
                 attrs.cell_gate_b);
    case 3:
      return set(attrs.output_gate_activation, attrs.output_gate_a,
                 attrs.output_gate_b);
    default:
      return set(attrs.activation, attrs.activation_a, attrs.activation_b);
  }
}
constexpr int kNumActivations = 5;

LstmAttrs with_gates(const std::vector<ActivationAttrs>& gates,
                     const ActivationAttrs& cell) {
  LstmAttrs attrs;
  for (int gate = 0; gate < 4; ++gate) set_activation(attrs, gate, gates[gate]);
  set_activation(attrs, 4, cell);
  return attrs;
}

std::vector<std::function<void(LstmCase&)>> lstm_options() {
  std::vector<std::function<void(LstmCase&)>> options{
      [](LstmCase& c) { c.attrs.reverse = true; },
      [](LstmCase& c) { c.attrs.forget_gate_last = true; },
      [](LstmCase& c) { c.options.has_state = true; },
      [](LstmCase& c) { c.options.has_cell = true; },
      [](LstmCase& c) { c.options.has_peephole = true; },
      [](LstmCase& c) {
        c.options.has_peephole = c.attrs.output_peephole_reads_new_cell = true;
      },
      [](LstmCase& c) { c.options.has_mask = true; },
      [](LstmCase& c) { c.options.lengths = {2, 3, 0}; }};
  for (int gate = 0; gate < kNumActivations; ++gate) {
    for (const ActivationAttrs& f : mps_activations()) {
      options.push_back([=](LstmCase& c) { set_activation(c.attrs, gate, f); });
    }
  }
  return options;
}

}  // namespace

void add_rnn_cases(OpCases& cases, Random& random) {
  using enum ActivationType;
  for_each_pair<LstmCase>(lstm_options(), [&](const LstmCase& c, bool single) {
    add_lstm(cases, {3, 3, 2}, c.attrs, c.options, single);
  });
  for (bool reverse : {false, true}) {
    for (const Shape& size : {Shape{1, 1, 1}, Shape{2, 1, 1}, Shape{3, 2, 5},
                              Shape{1, 3, 4}, Shape{5, 4, 3}, Shape{4, 1, 7}}) {
      add_lstm(cases, size, {.reverse = reverse}, {});
      add_lstm(cases, size, {.reverse = reverse},
               {.has_state = true, .has_cell = true});
    }
    const LstmAttrs attrs{.reverse = reverse};
    const Shape size{4, 3, 3};
    add_lstm(cases, size, attrs, {.has_state = true});
    add_lstm(cases, size, attrs, {.has_cell = true});
    add_lstm(cases, size, attrs, {.has_peephole = true});
    add_lstm(cases, size, attrs, {.has_mask = true});
    add_lstm(cases, size, attrs, {.lengths = {4, 1, 2}});
    add_lstm(cases, size, attrs, {.lengths = {3, 0, 9}});  // none, too many
    for (bool reads_new_cell : {false, true}) {
      const LstmAttrs with_peephole{
          .reverse = reverse,
          .forget_gate_last = reads_new_cell,
          .output_peephole_reads_new_cell = reads_new_cell};
      add_lstm(cases, size, with_peephole,
               {.has_state = true,
                .has_cell = true,
                .has_peephole = true,
                .has_mask = true,
                .lengths = {1, 4, 3}});
      add_lstm(cases, size, with_peephole,
               {.has_peephole = true, .lengths = {2, 3, 0}});
    }
    add_lstm(cases, size, {.reverse = reverse, .forget_gate_last = true}, {});
  }
  // More columns than one block.
  add_lstm(cases, {2, 2, 131}, {}, {.has_peephole = true});
  // Every kind of activation; those without kinks, which differences miss.
  const std::vector<ActivationAttrs> smooth{{None},
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
                                            {CELU, 1.0f}};
  const ActivationAttrs cell_tanh{Tanh, 1, 1};
  for (const ActivationAttrs& f : smooth) {
    add_lstm(cases, {3, 2, 3}, with_gates({f, {Sigmoid}, cell_tanh, f}, f),
             {.has_peephole = true});
    add_lstm(cases, {3, 2, 3},
             with_gates({{Sigmoid}, f, f, {Sigmoid}}, cell_tanh), {});
  }
  for (int i = 0; i < 6; ++i) {
    const Shape size{pick(random, 1, 6), pick(random, 1, 4),
                     pick(random, 1, 6)};
    Options options{.has_state = i % 2 == 0,
                    .has_cell = i % 3 != 0,
                    .has_peephole = i % 2 == 1,
                    .has_mask = i % 3 == 1};
    if (i > 2) {
      for (std::int64_t n = 0; n < size[1]; ++n) {
        options.lengths.push_back(
            static_cast<double>(pick(random, 0, size[0])));
      }
    }
    add_lstm(cases, size, {.reverse = i % 2 == 0}, options);
  }
}

}  // namespace traingraph::testing
