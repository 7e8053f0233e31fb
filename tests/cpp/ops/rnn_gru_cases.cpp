// SPDX-License-Identifier: MIT
// Cases of gru_steps, single_gate_steps and their gradient ops: every option,
// and every option with every other one.
#include "ops/rnn_cases.h"

namespace traingraph::testing {
namespace {

/// What a case has besides x and the weights.
struct Options {
  bool has_state = false, has_mask = false, has_bias = false;
  std::vector<double> lengths = {};
};

struct GruCase {
  GruAttrs attrs = {.reset_gate_first = false, .reset_after = false};
  Options options = {};
};
struct SingleGateCase {
  SingleGateAttrs attrs = {.activation = ActivationType::ReLU};
  Options options = {};
};

/// (steps, samples, hidden)
void add_gru(OpCases& cases, const Shape& size, const GruCase& gru,
             bool adds_gradients = true) {
  const Options& options = gru.options;
  const std::int64_t samples = size[1], hidden = size[2];
  const Shape x{size[0], samples, 3 * hidden}, state{samples, hidden};
  const CaseInput weights{{3 * hidden, hidden}, uniform(-0.7, 0.7)};
  const CaseInput h0 = maybe(options.has_state, state, uniform());
  const CaseInput mask = maybe(options.has_mask, state, values({0, 1.25, 0.5}));
  const CaseInput bias = maybe(options.has_bias && gru.attrs.reset_after,
                               {hidden}, uniform(-0.5, 0.5));
  const CaseInput lengths = lengths_input(options.lengths, samples);
  const OpCase forward =
      recurrent_case(OpKind::GruSteps, gru.attrs,
                     {{x, uniform(-2, 2)}, weights, h0, mask, bias, lengths});
  add_both(cases, forward, size);
  if (!adds_gradients) return;
  add_gradients(cases,
                {.op = OpKind::GruStepsGradient,
                 .attrs = gru.attrs,
                 .inputs = {{x, result_of(forward, 1)},
                            {size, result_of(forward, 0)},
                            weights,
                            h0,
                            mask,
                            bias,
                            lengths,
                            {size},
                            {x},
                            {state}}},
                /*first=*/7, /*sequence=*/2);
}

void add_single_gate(OpCases& cases, const Shape& size,
                     const SingleGateCase& single, bool adds_gradients = true) {
  const Options& options = single.options;
  const std::int64_t samples = size[1], hidden = size[2];
  const Shape state{samples, hidden};
  const CaseInput weights{{hidden, hidden}, uniform(-0.7, 0.7)};
  const CaseInput h0 = maybe(options.has_state, state, uniform());
  const CaseInput mask = maybe(options.has_mask, state, values({0, 1.25, 0.5}));
  const CaseInput lengths = lengths_input(options.lengths, samples);
  const OpCase forward =
      recurrent_case(OpKind::SingleGateSteps, single.attrs,
                     {{size, uniform(-2, 2)}, weights, h0, mask, lengths});
  add_both(cases, forward, size);
  if (!adds_gradients) return;
  add_gradients(cases,
                {.op = OpKind::SingleGateStepsGradient,
                 .attrs = single.attrs,
                 .inputs = {{size, result_of(forward, 1)},
                            weights,
                            h0,
                            mask,
                            lengths,
                            {size},
                            {size},
                            {state}}},
                /*first=*/5, /*sequence=*/2);
}

// Others: with parameters, and saved as arguments.
const std::vector<ActivationAttrs>& more_activations() {
  using enum ActivationType;
  static const std::vector<ActivationAttrs> all{
      {ReLU, -0.5f}, {Tanh, 0.8f, 1.3f}, {SoftPlus, 1, 1}, {GELU}};
  return all;
}

GruCase with_activation(const ActivationAttrs& f) {
  GruCase c;
  c.attrs.update_gate_activation = c.attrs.reset_gate_activation =
      c.attrs.output_gate_activation = f.type;
  c.attrs.update_gate_a = c.attrs.reset_gate_a = c.attrs.output_gate_a = f.a;
  c.attrs.update_gate_b = c.attrs.reset_gate_b = c.attrs.output_gate_b = f.b;
  return c;
}

std::vector<std::function<void(GruCase&)>> gru_options() {
  std::vector<std::function<void(GruCase&)>> options{
      [](GruCase& c) { c.attrs.reverse = true; },
      [](GruCase& c) { c.attrs.reset_gate_first = true; },
      [](GruCase& c) { c.attrs.reset_after = true; },
      [](GruCase& c) { c.attrs.flip_z = true; },
      [](GruCase& c) { c.options.has_state = true; },
      [](GruCase& c) { c.options.has_mask = true; },
      [](GruCase& c) { c.attrs.reset_after = c.options.has_bias = true; },
      [](GruCase& c) { c.options.lengths = {2, 3, 0}; }};
  for (const ActivationAttrs& f : mps_activations()) {
    options.push_back([f](GruCase& c) {
      c.attrs.update_gate_activation = f.type;
      c.attrs.update_gate_a = f.a;
      c.attrs.update_gate_b = f.b;
    });
    options.push_back([f](GruCase& c) {
      c.attrs.reset_gate_activation = f.type;
      c.attrs.reset_gate_a = f.a;
      c.attrs.reset_gate_b = f.b;
    });
    options.push_back([f](GruCase& c) {
      c.attrs.output_gate_activation = f.type;
      c.attrs.output_gate_a = f.a;
      c.attrs.output_gate_b = f.b;
    });
  }
  return options;
}

std::vector<std::function<void(SingleGateCase&)>> single_gate_options() {
  std::vector<std::function<void(SingleGateCase&)>> options{
      [](SingleGateCase& c) { c.attrs.reverse = true; },
      [](SingleGateCase& c) { c.options.has_state = true; },
      [](SingleGateCase& c) { c.options.has_mask = true; },
      [](SingleGateCase& c) { c.options.lengths = {2, 3, 0}; }};
  for (const ActivationAttrs& f : mps_activations()) {
    options.push_back([f](SingleGateCase& c) {
      c.attrs.activation = f.type;
      c.attrs.activation_a = f.a;
      c.attrs.activation_b = f.b;
    });
  }
  return options;
}

Options random_options(Random& random, const Shape& size) {
  Options options{.has_state = pick(random, 0, 1) == 1,
                  .has_mask = pick(random, 0, 2) == 1,
                  .has_bias = pick(random, 0, 1) == 1};
  if (pick(random, 0, 1) == 1) {
    for (std::int64_t n = 0; n < size[1]; ++n) {
      options.lengths.push_back(static_cast<double>(pick(random, 0, size[0])));
    }
  }
  return options;
}

}  // namespace

void add_gru_cases(OpCases& cases, Random& random) {
  for_each_pair<GruCase>(gru_options(), [&](const GruCase& c, bool is_single) {
    add_gru(cases, {3, 3, 2}, c, is_single);
  });
  for (const ActivationAttrs& f : more_activations()) {
    GruCase gru = with_activation(f);
    add_gru(cases, {3, 2, 2}, gru);
    gru.attrs.reset_after = true;
    add_gru(cases, {3, 2, 2}, gru);
  }
  add_gru(cases, {1, 1, 1}, {});
  add_gru(cases, {1, 2, 3}, {.attrs = {.reset_after = true}});
  // More columns than one block.
  add_gru(cases, {2, 2, 131}, {.options = {.has_state = true}});
  add_gru(cases, {2, 2, 131},
          {.attrs = {.reset_after = true}, .options = {.has_bias = true}});
  for (int i = 0; i < 8; ++i) {
    const Shape size{pick(random, 1, 6), pick(random, 1, 4),
                     pick(random, 1, 6)};
    GruCase gru{.options = random_options(random, size)};
    for (bool* option : {&gru.attrs.reverse, &gru.attrs.reset_gate_first,
                         &gru.attrs.reset_after, &gru.attrs.flip_z}) {
      *option = pick(random, 0, 1) == 1;
    }
    add_gru(cases, size, gru);
  }
}

void add_single_gate_cases(OpCases& cases, Random& random) {
  for_each_pair<SingleGateCase>(
      single_gate_options(), [&](const SingleGateCase& c, bool is_single) {
        add_single_gate(cases, {3, 3, 2}, c, is_single);
      });
  for (const ActivationAttrs& f : more_activations()) {
    add_single_gate(
        cases, {3, 2, 2},
        {.attrs = {
             .activation = f.type, .activation_a = f.a, .activation_b = f.b}});
  }
  add_single_gate(cases, {1, 1, 1}, {});
  add_single_gate(cases, {2, 2, 131}, {.options = {.has_state = true}});
  for (int i = 0; i < 4; ++i) {
    const Shape size{pick(random, 1, 6), pick(random, 1, 4),
                     pick(random, 1, 6)};
    SingleGateCase single{.options = random_options(random, size)};
    single.attrs.reverse = i % 2 == 0;
    add_single_gate(cases, size, single);
  }
}

}  // namespace traingraph::testing
