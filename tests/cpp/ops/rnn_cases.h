// SPDX-License-Identifier: MIT
// What the cases of the recurrent ops share: optional inputs, gradient ops by
// themselves, and every option with every other one.
#pragma once

#include <functional>
#include <vector>

#include "ops/cases.h"

namespace traingraph::testing {

inline constexpr const char* kRecurrentReason =
    "a recurrence in float32: each step adds the rounding of those before";
inline constexpr double kRecurrentTolerance = 2e-5;

inline CaseInput maybe(bool is_present, const Shape& shape,
                       const Domain& domain) {
  return is_present ? CaseInput{shape, domain} : absent();
}
inline CaseInput lengths_input(const std::vector<double>& lengths,
                               std::int64_t samples) {
  if (lengths.empty()) return absent();
  return {{samples}, values(lengths), DataType::Int32};
}

/// One that is given inputs, x and the weights first; checks the gradients of
/// all that are there but the last, the lengths.
inline OpCase recurrent_case(OpKind op, const Attributes& attrs,
                             std::vector<CaseInput> inputs) {
  OpCase forward{.op = op,
                 .attrs = attrs,
                 .inputs = std::move(inputs),
                 .tolerance = kRecurrentTolerance,
                 .gradient_tolerance = 4 * kRecurrentTolerance,
                 .reason = kRecurrentReason};
  const int lengths = static_cast<int>(forward.inputs.size()) - 1;
  for (int i = 0; i < lengths; ++i) {
    if (!forward.inputs[static_cast<std::size_t>(i)].shape.empty()) {
      forward.gradients.push_back(i);
    }
  }
  return forward;
}

/// The case, and one with lengths of all steps, which mean the same: the Metal
/// device composes that one of plain ops. `size`: (steps, samples, hidden).
inline void add_both(OpCases& cases, const OpCase& forward, const Shape& size) {
  cases.push_back(forward);
  if (!forward.inputs.back().shape.empty()) return;
  cases.push_back(forward);
  cases.back().inputs.back() = {
      {size[1]}, values({static_cast<double>(size[0])}), DataType::Int32};
}

/// A result of the case's op, for inputs of its gradient op.
inline Domain result_of(const OpCase& forward, int result) {
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
/// loss is that of the last states, and as one that reads the sequence.
/// `sequence` of its inputs, from `first` on, are of all steps; those behind
/// them are of the last states.
inline void add_gradients(OpCases& cases, OpCase gradient, std::size_t first,
                          std::size_t sequence) {
  gradient.tolerance = kRecurrentTolerance;
  gradient.reason = kRecurrentReason;
  cases.push_back(gradient);
  const CaseInput of_states = gradient.inputs[first];
  const std::size_t last = first + sequence;
  for (std::size_t i = first; i < last; ++i) gradient.inputs[i] = absent();
  cases.push_back(gradient);
  gradient.inputs[first] = of_states;
  for (std::size_t i = last; i < gradient.inputs.size(); ++i) {
    gradient.inputs[i] = absent();
  }
  cases.push_back(gradient);
}

/// f of no option, of each, and of each pair.
template <class Case>
void for_each_pair(const std::vector<std::function<void(Case&)>>& options,
                   const std::function<void(const Case&, bool is_single)>& f) {
  f(Case{}, true);
  for (std::size_t i = 0; i < options.size(); ++i) {
    Case one;
    options[i](one);
    f(one, true);
    for (std::size_t j = 0; j < i; ++j) {
      Case two;
      options[i](two);
      options[j](two);
      f(two, false);
    }
  }
}

/// MPSGraph's five activations; their kinks are rare enough.
inline const std::vector<ActivationAttrs>& mps_activations() {
  using enum ActivationType;
  static const std::vector<ActivationAttrs> all{
      {None}, {ReLU, 0}, {Tanh, 1, 1}, {Sigmoid}, {HardSigmoid, 0.2f, 0.5f}};
  return all;
}

}  // namespace traingraph::testing
