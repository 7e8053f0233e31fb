// SPDX-License-Identifier: MIT
// Cases of connectionist temporal classification: labels of all lengths, with
// repetitions, padding and lengths of their own, up to alignments that there
// are not.
#include <optional>

#include "ops/cases.h"

namespace traingraph::testing {
namespace {

/// Labels of some of `classes` but the blank, in few values, so that some
/// repeat the one before; padded from place n on in sample n, if at all.
Domain names(std::int64_t classes, std::int64_t blank,
             std::optional<double> padding = {}) {
  return [=](const Shape& shape, const RefTensors&, Random& random) {
    RefTensor x = zeros(shape);
    for (std::int64_t n = 0; n < shape[0]; ++n) {
      for (std::int64_t s = 0; s < shape[1]; ++s) {
        const std::int64_t name = pick(random, 0, classes - 2);
        x({n, s}) = static_cast<double>(name + (name >= blank ? 1 : 0));
        if (padding && s >= n) x({n, s}) = *padding;
      }
    }
    return x;
  };
}

/// most, most - 1 ... down to `least`, and from there on again.
Domain lengths(std::int64_t most, std::int64_t least) {
  return [=](const Shape& shape, const RefTensors&, Random&) {
    RefTensor x = zeros(shape);
    for (std::int64_t n = 0; n < shape[0]; ++n) {
      x({n}) = static_cast<double>(most - n % (most - least + 1));
    }
    return x;
  };
}

void add(OpCases& cases, const CtcLossAttrs& attrs,
         const std::vector<CaseInput>& inputs) {
  cases.push_back({.op = OpKind::CtcLoss,
                   .attrs = attrs,
                   .inputs = inputs,
                   .gradients = {0},
                   .max_differences = 12});
  // The reference takes differences of every element.
  if (inputs[0].shape.num_elements() > 100) return;
  std::vector<CaseInput> with_gradient{{{inputs[0].shape[0]}}};
  with_gradient.insert(with_gradient.end(), inputs.begin(), inputs.end());
  cases.push_back({.op = OpKind::CtcLossGradient,
                   .attrs = attrs,
                   .inputs = std::move(with_gradient),
                   .tolerance = 4 * kTolerance,
                   .reason = "a gradient, as elsewhere"});
}

CaseInput scores(const Shape& shape) { return {shape, uniform(-3, 3)}; }

}  // namespace

void add_ctc_loss_cases(OpCases& cases, Random&) {
  for (const std::int64_t blank : {0, 1, 3}) {
    for (const DataType type : {DataType::Int32, DataType::Int64}) {
      const CaseInput y = scores({3, 7, 4});
      const CaseInput t{{3, 3}, names(4, blank), type};
      const CaseInput steps{{3}, lengths(7, 6), DataType::Int32};
      const CaseInput counts{{3}, lengths(3, 0), DataType::Int32};
      CtcLossAttrs attrs{.blank = blank};
      add(cases, attrs, {y, t});
      add(cases, attrs, {y, t, steps});
      add(cases, attrs, {y, t, absent(), counts});
      attrs.divides_by_label_length = true;
      add(cases, attrs, {y, t, steps, counts});
      add(cases, attrs, {y, {{3, 3}, names(4, blank, -1), type}});
      // Behind their length they are not looked at.
      const CaseInput places{{3}, values({0, 1, 2}), DataType::Int32};
      for (const double padding : {-7.0, 4.0, 2147483000.0}) {
        add(cases, attrs,
            {y, {{3, 3}, names(4, blank, padding), type}, absent(), places});
      }
    }
  }
  const auto of = [](std::int64_t samples, std::int64_t steps,
                     std::int64_t classes, std::int64_t labels) {
    return std::vector{
        scores({samples, steps, classes}),
        CaseInput{{samples, labels}, names(classes, 0), DataType::Int32}};
  };
  add(cases, {}, of(1, 1, 2, 1));
  add(cases, {}, of(2, 3, 2, 2));
  add(cases, {}, of(5, 24, 6, 9));
  add(cases, {.divides_by_label_length = true}, of(2, 40, 30, 12));
  // One step is too few for two labels, and none for any.
  std::vector<CaseInput> inputs = of(4, 5, 3, 2);
  inputs.push_back({{4}, values({1, 5, 0, 4}), DataType::Int32});
  add(cases, {.zero_infinity = true}, inputs);
}

}  // namespace traingraph::testing
