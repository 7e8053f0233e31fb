// SPDX-License-Identifier: MIT
// Cases of every unary and binary arithmetic operation, in the forms of
// broadcasting.
#include "ops/elementwise_arithmetic_cases.h"

namespace traingraph::testing {
namespace {

using Operation = ArithmeticOperation;

struct Range {
  double low, high;
};

/// Where an operation is defined and its derivative moderate.
Range domain_of(Operation operation) {
  switch (operation) {
    case Operation::Sqrt:
    case Operation::Rsqrt:
    case Operation::Log:
    case Operation::Log2:
      return {0.1, 5};
    case Operation::Tan:
      return {-1.2, 1.2};
    case Operation::Asin:
    case Operation::Acos:
    case Operation::Atanh:
      return {-0.9, 0.9};
    case Operation::Acosh:
      return {1.1, 5};
    default:
      return {-4, 4};
  }
}

bool is_step(Operation operation) {
  return operation == Operation::Floor || operation == Operation::Ceil ||
         operation == Operation::Round;
}

void add_unary(OpCases& cases, Operation operation) {
  const Range range = domain_of(operation);
  const Domain domain = is_step(operation)
                            ? avoiding({-4, -3.5, -3, -2.5, -2, -1.5, -1, -0.5,
                                        0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4},
                                       range.low, range.high)
                            : uniform(range.low, range.high);
  const auto turn = static_cast<std::size_t>(operation);
  const Shape shape = common_shapes()[turn % common_shapes().size()];
  for (const Shape& s : {shape, Shape{2, 3, 11}}) {
    cases.push_back({.op = OpKind::Unary,
                     .attrs = ArithmeticAttrs{operation},
                     .inputs = {{s, domain}},
                     .gradients = {0}});
  }
  cases.push_back({.op = OpKind::Unary,
                   .attrs = ArithmeticAttrs{operation},
                   .inputs = {{{5, 61, 127}, uniform(range.low, range.high)}}});
  if (!is_step(operation)) return;
  // Halves go to the even neighbour.
  cases.push_back(
      {.op = OpKind::Unary,
       .attrs = ArithmeticAttrs{operation},
       .inputs = {{{9}, values({-2.5, -1.5, -0.5, 0, 0.5, 1.5, 2.5, 3, 7e6})}},
       .tolerance = 0});
}

/// Inputs on which the operation is smooth in both operands.
std::vector<CaseInput> smooth_operands(Operation operation, const Shape& x,
                                       const Shape& y) {
  switch (operation) {
    case Operation::Divide:
    case Operation::DivideNoNaN:
    case Operation::MultiplyNoNaN:
      return {{x, uniform()}, {y, uniform(-2, -0.3)}};
    case Operation::Pow:
      return {{x, uniform(0.3, 2)}, {y, uniform(-2, 2)}};
    case Operation::Min:
    case Operation::Max: {
      // Elements of a fine and of a shifted grid are never equal.
      const auto grid = [](double shift) {
        return [shift](const Shape& shape, const RefTensors&, Random& random) {
          RefTensor t = zeros(shape);
          for (double& e : t.data) {
            e = static_cast<double>(pick(random, -20, 20)) / 16 + shift;
          }
          return t;
        };
      };
      return {{x, grid(0)}, {y, grid(1.0 / 32)}};
    }
    default:
      return {{x, uniform(-2, 2)}, {y, uniform(-2, 2)}};
  }
}

void add_binary(OpCases& cases, Random& random, Operation operation) {
  const auto add = [&](const Shape& x, const Shape& y) {
    cases.push_back({.op = OpKind::Binary,
                     .attrs = ArithmeticAttrs{operation},
                     .inputs = smooth_operands(operation, x, y),
                     .gradients = {0, 1}});
  };
  for (const Shape& shape : common_shapes()) add(shape, shape);
  add({2, 1, 3}, {4, 1});        // both are repeated
  add({1}, {3, 5});              // a number
  add({3, 5}, {1, 1, 1});        // a number of a higher rank
  add({7}, {2, 3, 7});           // a row
  add({2, 5, 3, 3}, {5, 1, 1});  // per channel
  add({4, 3, 2}, {4, 1, 2});     // a middle axis
  add({2, 1, 3, 1, 2}, {4, 1, 3, 1});
  for (int i = 0; i < 6; ++i) {
    const Shape shape = random_shape(random, 1 + i % 5, 6);
    const Shape other = random_broadcastable(random, shape);
    if (i % 2 == 0) {
      add(shape, other);
    } else {
      add(other, shape);
    }
  }
  const auto add_large = [&](const Shape& x, const Shape& y) {
    cases.push_back({.op = OpKind::Binary,
                     .attrs = ArithmeticAttrs{operation},
                     .inputs = smooth_operands(operation, x, y)});
  };
  add_large({4, 31, 257}, {4, 31, 257});
  add_large({4, 31, 257}, {31, 1});
  add_large({4, 31, 257}, {257});
  add_large({1}, {4, 31, 257});
  add_large({157, 1}, {1, 203});
}

void add_ties_and_zeros(OpCases& cases) {
  const auto add = [&](Operation operation, Domain x, Domain y) {
    cases.push_back(
        {.op = OpKind::Binary,
         .attrs = ArithmeticAttrs{operation},
         .inputs = {{{5, 11}, std::move(x)}, {{11}, std::move(y)}}});
  };
  const Domain few = integers(-2, 2);
  add(Operation::Min, few, few);
  add(Operation::Max, few, few);
  add(Operation::Divide, few, few);  // infinities and NaN
  add(Operation::DivideNoNaN, few, few);
  add(Operation::MultiplyNoNaN, few, few);
  add(Operation::Pow, few, integers(0, 3));
  add(Operation::Pow, integers(1, 3), integers(-3, 3));
}

}  // namespace

void add_arithmetic_cases(OpCases& cases, Random& random) {
  for (int i = 0; i <= static_cast<int>(Operation::Max); ++i) {
    const auto operation = static_cast<Operation>(i);
    if (is_unary(operation)) {
      add_unary(cases, operation);
    } else {
      add_binary(cases, random, operation);
    }
  }
  add_ties_and_zeros(cases);
}

}  // namespace traingraph::testing
