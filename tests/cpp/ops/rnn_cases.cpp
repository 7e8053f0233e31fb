// SPDX-License-Identifier: MIT
// Cases of lstm and its gradient op: every option, alone and with others.
#include "ops/cases.h"

namespace traingraph::testing {
namespace {

constexpr const char* kReason =
    "a recurrence in float32: each step adds the rounding of those before";
constexpr double kRecurrentTolerance = 2e-5;

/// What a case has besides x and the weights.
struct Options {
  bool has_state = false, has_cell = false, has_peephole = false;
  bool has_mask = false;
  std::vector<double> lengths = {};
};

LstmAttrs with_gates(const std::vector<ActivationAttrs>& gates,
                     const ActivationAttrs& cell) {
  return {.input_gate_activation = gates[0].type,
          .input_gate_a = gates[0].a,
          .input_gate_b = gates[0].b,
          .forget_gate_activation = gates[1].type,
          .forget_gate_a = gates[1].a,
          .forget_gate_b = gates[1].b,
          .cell_gate_activation = gates[2].type,
          .cell_gate_a = gates[2].a,
          .cell_gate_b = gates[2].b,
          .output_gate_activation = gates[3].type,
          .output_gate_a = gates[3].a,
          .output_gate_b = gates[3].b,
          .activation = cell.type,
          .activation_a = cell.a,
          .activation_b = cell.b};
}

/// (steps, samples, hidden)
void add_lstm(OpCases& cases, const Shape& size, const LstmAttrs& attrs,
              const Options& options) {
  const std::int64_t samples = size[1], hidden = size[2];
  const Shape x{size[0], samples, 4 * hidden}, state{samples, hidden};
  const CaseInput weights{{4 * hidden, hidden}, uniform(-0.7, 0.7)};
  const auto maybe = [](bool is_present, const Shape& shape,
                        const Domain& domain) {
    return is_present ? CaseInput{shape, domain} : absent();
  };
  const CaseInput h0 = maybe(options.has_state, state, uniform());
  const CaseInput c0 = maybe(options.has_cell, state, uniform());
  const CaseInput peephole =
      maybe(options.has_peephole, {4 * hidden}, uniform(-0.5, 0.5));
  const CaseInput mask = maybe(options.has_mask, state, values({0, 1.25, 0.5}));
  const CaseInput lengths =
      options.lengths.empty()
          ? absent()
          : CaseInput{{samples}, values(options.lengths), DataType::Int32};
  OpCase forward{
      .op = OpKind::LstmSteps,
      .attrs = attrs,
      .inputs = {{x, uniform(-2, 2)}, weights, h0, c0, peephole, mask, lengths},
      .gradients = {0, 1},
      .tolerance = kRecurrentTolerance,
      .gradient_tolerance = 4 * kRecurrentTolerance,
      .reason = kReason};
  if (options.has_state) forward.gradients.push_back(2);
  if (options.has_cell) forward.gradients.push_back(3);
  if (options.has_peephole) forward.gradients.push_back(4);
  if (options.has_mask) forward.gradients.push_back(5);
  cases.push_back(forward);

  // The gradient op by itself; gates and cells are those of some sequence, the
  // hidden states follow from them.
  const auto forward_result = [=](int result) -> Domain {
    return [=](const Shape&, const RefTensors&, Random&) {
      Random same(size.num_elements());
      RefTensors in;
      for (const CaseInput& input : forward.inputs) {
        in.push_back(input.shape.empty() ? RefTensor{}
                                         : input.domain(input.shape, in, same));
        for (double& e : in.back().data) e = static_cast<float>(e);
      }
      return evaluate(OpKind::LstmSteps, attrs, in).at(result);
    };
  };
  OpCase gradient{.op = OpKind::LstmStepsGradient,
                  .attrs = attrs,
                  .inputs = {{x, forward_result(2)},
                             {size, forward_result(1)},
                             {size, forward_result(0)},
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
                             {state}},
                  .tolerance = kRecurrentTolerance,
                  .reason = kReason};
  cases.push_back(gradient);
  // As a network has it whose loss is that of the last states.
  for (int i : {9, 10, 11}) gradient.inputs[i] = absent();
  cases.push_back(gradient);
  // As one has it that reads the sequence, and keeps no hidden states.
  for (int i : {2, 12, 13}) gradient.inputs[i] = absent();
  gradient.inputs[9] = {size};
  cases.push_back(gradient);
}

}  // namespace

void add_rnn_cases(OpCases& cases, Random& random) {
  using enum ActivationType;
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
