// SPDX-License-Identifier: MIT
// Gradients where central differences cannot tell: at zeros, ties and kinks.
// The values are worked out by hand; the reference and the device must both
// give them.
#include <gtest/gtest.h>

#include <limits>

#include "autodiff/gradient.h"
#include "ops/case_program.h"

namespace traingraph::testing {
namespace {

using Data = std::vector<double>;
using Operation = ArithmeticOperation;

/// The gradients of all inputs for the incoming gradient `seed`.
std::vector<Data> gradients_of(OpKind op, const Attributes& attrs,
                               const RefTensors& inputs, const Data& seed) {
  Program program;
  std::vector<ValueId> ids;
  RefValues contents;
  for (const RefTensor& x : inputs) {
    ids.push_back(program.add_value(Role::Input, {x.shape}, "x"));
    contents[ids.back()] = x;
  }
  const ValueId y = program.append_one(op, attrs, ids);
  const Shape shape = program.shape(y);
  const ValueId incoming = program.add_value(Role::Input, {shape}, "seed");
  contents[incoming] = {shape, seed};
  const GradientMap map = differentiate(
      program, {.seeds = {{y, incoming}}, .wanted = ids, .stopped = {}});

  std::vector<ValueId> kept;
  for (ValueId id : ids) kept.push_back(map.at(id));
  ProgramRun run(program, kept);
  for (const auto& [id, x] : contents) set_tensor(run, program, id, x);
  run.run();
  const RefValues reference = evaluate_program(program, contents);
  std::vector<Data> gradients;
  for (ValueId id : kept) {
    const RefTensor got = get_tensor(run, program, id);
    expect_close(got, reference.at(id), 1e-5);
    gradients.push_back(got.data);
  }
  return gradients;
}

std::vector<Data> binary(Operation operation, const Data& x, const Data& y,
                         const Data& seed) {
  const Shape shape{static_cast<std::int64_t>(x.size())};
  return gradients_of(OpKind::Binary, ArithmeticAttrs{operation},
                      {{shape, x}, {shape, y}}, seed);
}

Data reduced(ReductionType type, const RefTensor& x, const Shape& axes,
             const Data& seed) {
  return gradients_of(OpKind::Reduce, ReduceAttrs{type, axes}, {x}, seed).at(0);
}

TEST(GradientRule, PowAtZero) {
  // 0^2 is flat, 0^1 has slope 1, x^0 is the constant 1, also at 0. 0^y stays
  // 0 when y moves, so its derivative in y is 0 and not 0 * ln 0.
  const auto gradients =
      binary(Operation::Pow, {0, 0, 0, 2}, {2, 1, 0, 0}, {1, 3, 1, 1});
  EXPECT_EQ(gradients[0], (Data{0, 3, 0, 0}));
  EXPECT_EQ(gradients[1][0], 0);
  EXPECT_EQ(gradients[1][1], 0);
  EXPECT_EQ(gradients[1][2], 0);
  EXPECT_NEAR(gradients[1][3], 0.69314718, 1e-6);  // 2^0 ln 2
}

TEST(GradientRule, NoNaNOperationsAtZero) {
  // Where the second operand is 0 both are the constant 0.
  const auto product =
      binary(Operation::MultiplyNoNaN, {3, 3, 0}, {0, 2, 4}, {1, 1, 1});
  EXPECT_EQ(product[0], (Data{0, 2, 4}));
  EXPECT_EQ(product[1][1], 3);
  EXPECT_EQ(product[1][2], 0);
  const auto quotient =
      binary(Operation::DivideNoNaN, {3, 3, 0}, {0, 2, 4}, {1, 1, 1});
  EXPECT_EQ(quotient[0], (Data{0, 0.5, 0.25}));
  EXPECT_EQ(quotient[1], (Data{0, -0.75, 0}));
}

TEST(GradientRule, TiesOfMinAndMaxGoToTheFirst) {
  for (Operation operation : {Operation::Min, Operation::Max}) {
    const auto tied = binary(operation, {2, -1, 0}, {2, -1, 0}, {5, 6, 7});
    EXPECT_EQ(tied[0], (Data{5, 6, 7}));
    EXPECT_EQ(tied[1], (Data{0, 0, 0}));
  }
  const auto smaller = binary(Operation::Min, {1, 3}, {2, 2}, {5, 6});
  EXPECT_EQ(smaller[0], (Data{5, 0}));
  EXPECT_EQ(smaller[1], (Data{0, 6}));
}

TEST(GradientRule, ExtremumSharesAmongTies) {
  const RefTensor x{{2, 4}, {1, 3, 3, 0, 2, 2, 2, 2}};
  EXPECT_EQ(reduced(ReductionType::Max, x, {1}, {6, 8}),
            (Data{0, 3, 3, 0, 2, 2, 2, 2}));
  EXPECT_EQ(reduced(ReductionType::Min, x, {1}, {6, 8}),
            (Data{0, 0, 0, 6, 2, 2, 2, 2}));
  // Ties along both axes of a full reduction.
  EXPECT_EQ(reduced(ReductionType::Max, x, {}, {4}),
            (Data{0, 2, 2, 0, 0, 0, 0, 0}));
  EXPECT_EQ(reduced(ReductionType::Min, {{3}, {0, -0.0, 1}}, {}, {4}),
            (Data{2, 2, 0}));
}

// What made the result NaN gets the gradient, not a number that lost.
TEST(GradientRule, NaNIsTheExtremum) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  for (Operation operation : {Operation::Min, Operation::Max}) {
    const auto either =
        binary(operation, {kNaN, 1, kNaN}, {1, kNaN, kNaN}, {5, 6, 7});
    EXPECT_EQ(either[0], (Data{5, 0, 7}));
    EXPECT_EQ(either[1], (Data{0, 6, 0}));
  }
  const RefTensor x{{2, 3}, {1, kNaN, 3, kNaN, 0, kNaN}};
  for (ReductionType type : {ReductionType::Min, ReductionType::Max}) {
    EXPECT_EQ(reduced(type, x, {1}, {4, 6}), (Data{0, 4, 0, 3, 0, 3}));
  }
}

TEST(GradientRule, L1NormIsFlatAtZero) {
  EXPECT_EQ(reduced(ReductionType::L1Norm, {{2, 3}, {-2, 0, 3, -0.0, 1, 0}},
                    {1}, {5, 7}),
            (Data{-5, 0, 5, 0, 7, 0}));
}

TEST(GradientRule, StepsAreFlatEverywhere) {
  for (Operation operation :
       {Operation::Floor, Operation::Ceil, Operation::Round}) {
    const auto gradients =
        gradients_of(OpKind::Unary, ArithmeticAttrs{operation},
                     {{{4}, {-1, 0, 0.5, 2}}}, {1, 2, 3, 4});
    EXPECT_EQ(gradients.at(0), (Data{0, 0, 0, 0}));
  }
}

}  // namespace
}  // namespace traingraph::testing
