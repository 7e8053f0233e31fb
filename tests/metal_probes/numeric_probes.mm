// SPDX-License-Identifier: MIT
// Rounding, ties, NaN and kinks of single ops.
#include <cmath>
#include <limits>
#include <tuple>

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

// --- the ends of float32 ---

const float kInfinity = std::numeric_limits<float>::infinity();

/// What is looked for is far off; denormals may be flushed.
bool is_close(float x, float y) {
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  return x == y || std::abs(x - y) <= 1e-3F * std::abs(y) + 1e-37F;
}

/// "right", or what came for which arguments.
std::string compare(const Numbers& got, const Numbers& expected,
                    const std::vector<std::string>& arguments) {
  std::string wrong;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (is_close(got[i], expected[i])) continue;
    wrong += ' ' + arguments[i] + " -> " + text(got[i]);
  }
  return wrong.empty() ? "right" : "wrong:" + wrong;
}

std::vector<std::string> texts(const Numbers& numbers) {
  std::vector<std::string> result;
  for (float number : numbers) result.push_back(text(number));
  return result;
}

std::string tanh_of_extremes() {
  const Numbers x = {0,   1e-4F, 10,    -10,    44,        -44,
                     100, -100,  1e30F, -1e30F, kInfinity, -kInfinity};
  Numbers expected;
  for (float value : x) expected.push_back(std::tanh(value));
  Lab lab;
  return compare(lab.run([lab.graph() tanhWithTensor:lab.input(x)
                                                name:@"tanh"]),
                 expected, texts(x));
}

std::string pow_of_extremes() {
  const Numbers base = {0, 0,  0,  -2, -2,   2,     2,        2,
                        1, -1, 10, 10, 1.5F, 1e-3F, kInfinity};
  const Numbers exponent = {0,         2, -1, 2,  3,   127, 128, -150,
                            kInfinity, 5, 38, 39, 200, 15,  0};
  Numbers expected;
  std::vector<std::string> arguments;
  for (std::size_t i = 0; i < base.size(); ++i) {
    expected.push_back(std::pow(base[i], exponent[i]));
    arguments.push_back(text(base[i]) + '^' + text(exponent[i]));
  }
  Lab lab;
  return compare(lab.run([lab.graph() powerWithPrimaryTensor:lab.input(base)
                                             secondaryTensor:lab.input(exponent)
                                                        name:@"power"]),
                 expected, arguments);
}

std::string exp_of_extremes() {
  const Numbers x = {-200, -80, 0, 80, 88, 89, 1e30F, -1e30F};
  const Numbers positive = {0, 1e-37F, 1, 3e38F, -1, kInfinity, 2, 4};
  Numbers exponents, logarithms, sigmoids;
  for (float value : x) {
    exponents.push_back(std::exp(value));
    sigmoids.push_back(1 / (1 + std::exp(-value)));
  }
  for (float value : positive) logarithms.push_back(std::log(value));
  Lab lab;
  T source = lab.input(x);
  const auto results =
      lab.run_all({[lab.graph() exponentWithTensor:source name:@"exponent"],
                   [lab.graph() sigmoidWithTensor:source name:@"sigmoid"],
                   [lab.graph() logarithmWithTensor:lab.input(positive)
                                               name:@"log"]});
  for (const auto& [got, expected, arguments, name] :
       {std::tuple(results[0], exponents, x, "exponent "),
        std::tuple(results[1], sigmoids, x, "sigmoid "),
        std::tuple(results[2], logarithms, positive, "logarithm ")}) {
    const std::string answer = compare(got, expected, texts(arguments));
    if (answer != "right") return "wrong: " + (name + answer);
  }
  return "right";
}

}  // namespace

std::vector<Probe> numeric_probes() {
  return {
      {.name = "rint",
       .question = "rint rounds halves",
       .answer = rint_of_halves,
       .weight = Weight::Reliance,
       .expected = when(kRintRoundsHalfToEven, {"to even"}),
       .remedy = {.constant = "kRintRoundsHalfToEven", .value = "false"}},
      {.name = "round",
       .question = "round rounds halves",
       .answer = round_of_halves,
       .expected = {"away from zero"}},
      {.name = "arg_ties",
       .question = "arg reductions return which of equal elements",
       .answer = arg_ties,
       .weight = Weight::Reliance,
       .expected = when(kArgReductionPicksFirstOfTies, {"first"}),
       .remedy = {.constant = "kArgReductionPicksFirstOfTies",
                  .value = "false",
                  .text = "and reduce.mm has to compose them"}},
      {.name = "maximum_of_nan",
       .question = "maximum of a number and NaN",
       .answer = maximum_of_nan,
       .expected = {"the number"}},
      {.name = "reduction_of_nan",
       .question = "reductionMaximum over numbers and NaN",
       .answer = reduction_of_nan,
       .expected = {"the largest number"}},
      {.name = "comparison_of_nan",
       .question = "comparisons with NaN",
       .answer = comparison_of_nan,
       .weight = Weight::Reliance,
       .expected = {"always false"},
       .remedy = {.text = "elementwise_logic.mm has to ask isNaN first"}},
      {.name = "relu_gradient_at_zero",
       .question = "reLUGradient where the source is 0",
       .answer = relu_gradient_at_zero,
       .expected = {"0"}},
      {.name = "sign",
       .question = "sign of 0 and of NaN",
       .answer = sign_of_zero_and_nan,
       .expected = {"[0, 0]"}},
      {.name = "denormals",
       .question = "denormals are",
       .answer = denormals,
       .expected = {"kept"}},
      {.name = "tanh_extremes",
       .question = "tanh of 0, +-10, +-100, +-1e30 and infinity",
       .answer = tanh_of_extremes,
       .weight = Weight::Reliance,
       .expected = {"right"},
       .remedy = {.text = "elementwise_activation.mm has to clamp the argument "
                          "to 15"}},
      {.name = "pow_extremes",
       .question = "power of 0, negative bases and large exponents",
       .answer = pow_of_extremes,
       .weight = Weight::Reliance,
       .expected = {"right"},
       .remedy = {.text = "elementwise_arithmetic.mm has to select the cases "
                          "that are wrong"}},
      {.name = "exp_extremes",
       .question = "exponent, logarithm and sigmoid at the ends of float32",
       .answer = exp_of_extremes,
       .weight = Weight::Reliance,
       .expected = {"right"},
       .remedy = {.text = "elementwise_activation.mm has to select the cases "
                          "that are wrong"}},
  };
}

}  // namespace traingraph::metal::probes
