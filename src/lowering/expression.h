// SPDX-License-Identifier: MIT
// Element-wise nodes whose results only one other element-wise node reads are
// computed by that one's unit, in one pass over memory:
//
//   before: a = x * s; b = a + t; y = exp(b)
//   after:  y = multiply+add+exp(x, s, t)
//
// Operands broadcast by NumPy's rule. Results between have the shape of the
// last one: what repeats is cheaper computed once.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "lowering/fusion_search.h"
#include "lowering/plans/broadcast_plan.h"
#include "lowering/unit_builder.h"

namespace traingraph {

inline constexpr std::size_t kMaxExpressionOperands = 8;
using ExpressionPlan = BroadcastPlan<kMaxExpressionOperands>;

/// How a backend wants them.
struct ExpressionLimits {
  /// Can its kernels compute the node as a part of an expression?
  std::function<bool(const Program&, const Node&)> computes;
  std::size_t max_steps = 16;
  /// Elements that lie side by side in the result and in each operand that
  /// does not repeat there.
  std::int64_t min_row = 1;
};

/// Joins nodes with their readers. Joins nothing that keeps more operands alive
/// while other nodes run than the result that it saves.
void join_expressions(FusionSearch& search, const ExpressionLimits& limits);

/// What a unit computes for each element: the nodes joined with `unit`'s, in
/// the order in which they are evaluated, its own at last.
struct Expression {
  struct Operand {
    std::size_t step;  // whose node reads it
    int input;
  };
  struct Step {
    UnitBuilder unit;
    /// By input: a step before, or ~k for operand k.
    std::vector<int> sources;
  };

  explicit Expression(UnitBuilder& unit);

  const Shape& operand_shape(std::size_t k) const {
    return steps[operands[k].step].unit.input_shape(operands[k].input);
  }
  const Shape& shape() const { return steps.back().unit.result_shape(); }
  ExpressionPlan plan() const;

  std::vector<Operand> operands;  // each value once
  std::vector<Step> steps;

 private:
  int add(UnitBuilder& unit);
  int add_operand(const UnitBuilder& unit, int input, std::size_t step);
};

}  // namespace traingraph
