// SPDX-License-Identifier: MIT
#include "lowering/expression.h"

#include <algorithm>
#include <array>

#include "lowering/fusion_query.h"

namespace traingraph {
namespace {

ExpressionPlan plan_of(const Shape& result, std::span<const Shape> operands) {
  std::array<Shape, kMaxExpressionOperands> shapes;
  shapes.fill(Shape{});  // a scalar changes no plan
  std::ranges::copy(operands, shapes.begin());
  return plan_broadcast<kMaxExpressionOperands>(result, shapes);
}

class ExpressionSearch {
 public:
  ExpressionSearch(FusionSearch& search, const ExpressionLimits& limits)
      : search_(search),
        limits_(limits),
        program_(search.program()),
        groups_(program_.nodes().size()) {}

  void run() {
    for (NodeId id = 0; id < static_cast<NodeId>(groups_.size()); ++id) {
      if (!computes(id)) continue;
      Group& own = groups_[id];
      own.num_steps = 1;
      for (const ValueId input : program_.node(id).inputs) add(own, input);
      const std::vector<ValueId> inputs = own.operands;
      for (const ValueId input : inputs) join(id, input);
    }
  }

 private:
  /// A node and those that it computes on its way.
  struct Group {
    std::vector<ValueId> operands;
    std::size_t num_steps = 0;
  };

  static void add(Group& group, ValueId value) {
    if (std::ranges::find(group.operands, value) == group.operands.end()) {
      group.operands.push_back(value);
    }
  }

  bool computes(NodeId id) const {
    return search_.is_free(id) && limits_.computes(program_, program_.node(id));
  }
  const Shape& shape_of(NodeId id) const {
    return program_.shape(program_.node(id).outputs[0]);
  }

  void join(NodeId reader, ValueId input) {
    const NodeId producer = program_.value(input).producer;
    if (producer < 0 || groups_[producer].num_steps == 0) return;
    if (shape_of(producer) != shape_of(reader)) return;
    Group joined = groups_[reader];
    joined.num_steps += groups_[producer].num_steps;
    std::erase(joined.operands, input);
    for (const ValueId operand : groups_[producer].operands) {
      add(joined, operand);
    }
    const bool is_joined = is_within_limits(joined, shape_of(reader)) &&
                           may_run_later(producer, reader) &&
                           search_.join_producer(input, reader);
    if (is_joined) groups_[reader] = std::move(joined);
  }

  bool is_within_limits(const Group& group, const Shape& result) const {
    if (group.num_steps > limits_.max_steps ||
        group.operands.size() > kMaxExpressionOperands) {
      return false;
    }
    std::vector<Shape> shapes;
    for (const ValueId operand : group.operands) {
      shapes.push_back(program_.shape(operand));
    }
    const ExpressionPlan plan = plan_of(result, shapes);
    return plan.rank == 1 || plan.sizes[plan.rank - 1] >= limits_.min_row;
  }

  /// At the position of `reader`?
  bool may_run_later(NodeId producer, NodeId reader) const {
    const auto& operands = groups_[producer].operands;
    const bool changes = std::ranges::any_of(operands, [&](ValueId operand) {
      return search_.changes_between(operand, producer, reader);
    });
    const auto num_large = std::ranges::count_if(operands, [&](ValueId value) {
      return program_.shape(value) == shape_of(producer) &&
             !search_.outlives(value, reader);
    });
    return !changes && (num_large <= 1 || producer + 1 == reader);
  }

  FusionSearch& search_;
  const ExpressionLimits& limits_;
  const Program& program_;
  std::vector<Group> groups_;  // by node; no steps: it is in none
};

}  // namespace

void join_expressions(FusionSearch& search, const ExpressionLimits& limits) {
  ExpressionSearch(search, limits).run();
}

Expression::Expression(UnitBuilder& unit) { add(unit); }

int Expression::add(UnitBuilder& unit) {
  const int num_inputs = static_cast<int>(unit.node().inputs.size());
  std::vector<int> sources;
  for (int i = 0; i < num_inputs; ++i) {
    auto producer = unit.fusion().join_producer(i);
    sources.push_back(producer ? add(*producer) : 0);
  }
  // Operands name their step, which has a number now.
  for (int i = 0; i < num_inputs; ++i) {
    if (!unit.fusion().computes_input(i)) {
      sources[i] = add_operand(unit, i, steps.size());
    }
  }
  steps.push_back({unit, std::move(sources)});
  return static_cast<int>(steps.size()) - 1;
}

int Expression::add_operand(const UnitBuilder& unit, int input,
                            std::size_t step) {
  const ValueId value = unit.node().inputs[input];
  const auto is_it = [&](const Operand& known) {
    const UnitBuilder& reader =
        known.step < steps.size() ? steps[known.step].unit : unit;
    return reader.node().inputs[known.input] == value;
  };
  const auto found = std::ranges::find_if(operands, is_it);
  if (found != operands.end()) {
    return ~static_cast<int>(found - operands.begin());
  }
  operands.push_back({step, input});
  return ~(static_cast<int>(operands.size()) - 1);
}

ExpressionPlan Expression::plan() const {
  std::vector<Shape> shapes;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    shapes.push_back(operand_shape(k));
  }
  return plan_of(shape(), shapes);
}

}  // namespace traingraph
