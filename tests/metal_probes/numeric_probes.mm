// SPDX-License-Identifier: MIT
// Rounding, ties, NaN and kinks of single ops.
#include <cmath>

#include "metal/assumptions.h"
#import "tests/metal_probes/lab.h"
#include "tests/metal_probes/probe.h"

namespace traingraph::metal::probes {
namespace {

const float kNan = std::nanf("");

std::string explain_rounding(const Numbers& measured) {
  return explain(measured, {{"to even", {0, 2, 2, 4, 0, -2}},
                            {"away from zero", {1, 2, 3, 4, -1, -2}},
                            {"up", {1, 2, 3, 4, 0, -1}},
                            {"towards zero", {0, 1, 2, 3, 0, -1}}});
}

const Numbers kHalves = {0.5F, 1.5F, 2.5F, 3.5F, -0.5F, -1.5F};

std::string rint_of_halves() {
  Lab lab;
  return explain_rounding(lab.run([lab.graph() rintWithTensor:lab.input(kHalves)
                                                         name:@"rint"]));
}

std::string round_of_halves() {
  Lab lab;
  return explain_rounding(
      lab.run([lab.graph() roundWithTensor:lab.input(kHalves) name:@"round"]));
}

std::string explain_position(float position) {
  if (position == 3) return "first";
  if (position == 1900) return "last";
  return "neither the first nor the last: " + text(position);
}

/// Few elements and many may take different kernels.
std::string arg_ties() {
  Numbers highs(2048, 0), lows(2048, 0);
  for (int position : {3, 500, 1024, 1900}) {
    highs[position] = 1;
    lows[position] = -1;
  }
  Lab lab;
  const auto results = lab.run_all(
      {[lab.graph() reductionArgMaximumWithTensor:lab.input(highs)
                                             axis:0
                                             name:@"high"],
       [lab.graph() reductionArgMinimumWithTensor:lab.input(lows)
                                             axis:0
                                             name:@"low"],
       [lab.graph() reductionArgMaximumWithTensor:lab.input({1, 3, 3, 2})
                                             axis:0
                                             name:@"few"]});
  const std::string high = explain_position(results[0].front());
  const std::string low = explain_position(results[1].front());
  const bool is_first_of_few = results[2].front() == 1;
  if (high == "first" && low == "first" && is_first_of_few) return "first";
  return "not always the first: maximum of many " + high +
         ", minimum of many " + low + ", maximum of few at " +
         text(results[2].front());
}

std::string maximum_of_nan() {
  Lab lab;
  return explain(
      lab.run([lab.graph() maximumWithPrimaryTensor:lab.input({kNan, 1, kNan})
                                    secondaryTensor:lab.input({1, kNan, kNan})
                                               name:@"maximum"]),
      {{"the number", {1, 1, kNan}}, {"NaN", {kNan, kNan, kNan}}});
}

std::string reduction_of_nan() {
  Lab lab;
  T source = lab.input({1, kNan, 3});
  return explain(lab.run([lab.graph() reductionMaximumWithTensor:source
                                                            axis:0
                                                            name:@"maximum"]),
                 {{"the largest number", {3}}, {"NaN", {kNan}}});
}

std::string comparison_of_nan() {
  Lab lab;
  T nan = lab.input({kNan}), one = lab.input({1});
  const auto results = lab.run_all(
      {[lab.graph() lessThanWithPrimaryTensor:nan
                              secondaryTensor:one
                                         name:@"less"],
       [lab.graph() greaterThanOrEqualToWithPrimaryTensor:nan
                                          secondaryTensor:one
                                                     name:@"at_least"],
       [lab.graph() equalWithPrimaryTensor:nan
                           secondaryTensor:nan
                                      name:@"equal"]});
  return explain({results[0].front(), results[1].front(), results[2].front()},
                 {{"always false, as in IEEE 754", {0, 0, 0}}});
}

std::string relu_gradient_at_zero() {
  Lab lab;
  T gradient =
      [lab.graph() reLUGradientWithIncomingGradient:lab.input({1, 1, 1})
                                       sourceTensor:lab.input({-1, 0, 1})
                                               name:@"gradient"];
  return explain(lab.run(gradient), {{"0", {0, 0, 1}}, {"1", {0, 1, 1}}});
}

std::string sign_of_zero_and_nan() {
  Lab lab;
  return text(lab.run([lab.graph() signWithTensor:lab.input({0, kNan})
                                             name:@"sign"]));
}

std::string denormals() {
  Lab lab;
  const float denormal = 1e-40F;
  const Numbers sum =
      lab.run([lab.graph() multiplicationWithPrimaryTensor:lab.input({denormal})
                                           secondaryTensor:lab.constant(1)
                                                      name:@"product"]);
  return sum.front() == denormal ? "kept" : "flushed to zero";
}

}  // namespace

std::vector<Probe> numeric_probes() {
  return {
      {.name = "rint",
       .question = "rint rounds halves",
       .answer = rint_of_halves,
       .constant = "kRintRoundsHalfToEven",
       .expected = kRintRoundsHalfToEven ? "to even" : ""},
      {.name = "round",
       .question = "round rounds halves",
       .answer = round_of_halves},
      {.name = "arg_ties",
       .question = "arg reductions return which of equal elements",
       .answer = arg_ties,
       .constant = "kArgReductionPicksFirstOfTies",
       .expected = kArgReductionPicksFirstOfTies ? "first" : ""},
      {.name = "maximum_of_nan",
       .question = "maximum of a number and NaN",
       .answer = maximum_of_nan},
      {.name = "reduction_of_nan",
       .question = "reductionMaximum over numbers and NaN",
       .answer = reduction_of_nan},
      {.name = "comparison_of_nan",
       .question = "comparisons with NaN",
       .answer = comparison_of_nan},
      {.name = "relu_gradient_at_zero",
       .question = "reLUGradient where the source is 0",
       .answer = relu_gradient_at_zero},
      {.name = "sign",
       .question = "sign of 0 and of NaN",
       .answer = sign_of_zero_and_nan},
      {.name = "denormals", .question = "denormals are", .answer = denormals},
  };
}

}  // namespace traingraph::metal::probes
