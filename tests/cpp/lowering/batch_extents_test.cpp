// SPDX-License-Identifier: MIT
// Code that is generated for one batch size serves the others: extents along
// the batch axis are its arguments, all else is written into it.
#include "compiler/batch_extents.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "compiler/compile.h"
#include "compiler/merge.h"
#include "graph/op_def.h"
#include "lowering/fusion_search.h"
#include "lowering/lowering.h"
#include "lowering/policy.h"
#include "lowering/unit_builder.h"
#include "ops/cost.h"
#include "traingraph/layers.h"

namespace traingraph::testing {
namespace {

/// Counts the texts that it would have to compile.
class CountingPolicy final : public LoweringPolicy {
 public:
  void lower(OpKind op, UnitBuilder& unit) const override {
    std::string text = op_def(op).name;
    const int num_inputs = static_cast<int>(unit.node().inputs.size());
    for (int i = 0; i < num_inputs; ++i) {
      if (!unit.has(i)) continue;
      mutates(unit.node(), i) ? unit.mutate(i) : unit.read(i);
      for (int axis = 0; axis < unit.input_shape(i).rank(); ++axis) {
        text += unit.input_follows_batch(i, axis)
                    ? " n"
                    : " " + std::to_string(unit.input_shape(i)[axis]);
      }
    }
    const int num_results = static_cast<int>(unit.node().outputs.size());
    for (int r = 0; r < num_results; ++r) unit.write(r);
    texts.insert(text);
    unit.emit(std::make_unique<UnitCode>());
  }
  Fusions find_fusions(FusionSearch search) const override {
    return std::move(search).take();
  }
  CopyCode copy(const Layout&, const Layout&) const override { return {}; }
  std::unique_ptr<UnitCode> copy_bytes(std::int64_t) const override {
    return std::make_unique<UnitCode>();
  }
  void make_code(const Node&, const NodeCost&,
                 const std::function<void()>& make) const override {
    make();
  }

  mutable std::set<std::string> texts;
};

class CountingTarget final : public Target {
 public:
  explicit CountingTarget(bool wants_batch_extents)
      : wants_batch_extents_(wants_batch_extents) {}
  std::string_view name() const override { return "counting"; }
  bool wants_batch_extents() const override { return wants_batch_extents_; }
  std::string reason_unsupported(const Program&, const Node&) const override {
    return {};
  }
  LoweredProgram lower(const Program& program,
                       const LowerOptions& options) const override {
    return lower_program(program, options, *this, policy);
  }
  CountingPolicy policy;

 private:
  bool wants_batch_extents_;
};

/// A norm and a dense layer over tokens, whose product merges the batch with
/// another axis; a loss, gradients, which are sums over samples, and updates.
std::shared_ptr<const MergedGraph> make_graph() {
  Graph graph;
  const Tensor x{{{6, 4, 3}}, "x"}, label{{{6, 4, 5}}, "label"};
  graph.node(
      std::make_shared<layers::FullyConnected>(3, 5),
      graph.node(std::make_shared<layers::LayerNormalization>(Shape{3}), x));
  Declaration d;
  d.graphs.push_back(graph.state());
  d.trains = true;
  d.loss = std::make_shared<losses::MeanSquaredError>();
  d.optimizer = std::make_shared<optimizers::Adam>();
  d.inputs = {{"x", x}};
  d.labels = {{"label", label}};
  return std::make_shared<const MergedGraph>(merge_graphs(d).graph);
}

std::size_t num_more_texts(const Target& target,
                           const std::set<std::string>& texts) {
  const auto graph = make_graph();
  const Compilation first = compile_graph(graph, target, {}, 6);
  const std::size_t before = texts.size();
  EXPECT_GT(before, 10u);
  for (const std::int64_t batch : {5, 3, 2}) {
    for (const PlanKind kind : {PlanKind::Step, PlanKind::Inference}) {
      compile_batch(graph, target, {}, batch, kind, &first);
    }
  }
  return texts.size() - before;
}

TEST(BatchExtents, AreArgumentsSoThatOtherSizesNeedNoOtherCode) {
  const CountingTarget target(true);
  EXPECT_EQ(num_more_texts(target, target.policy.texts), 0u);
}

TEST(BatchExtents, AreNotLookedForWhereNobodyAsks) {
  const CountingTarget target(false);
  EXPECT_GT(num_more_texts(target, target.policy.texts), 10u);
}

TEST(BatchExtents, AreUnknownBetweenProgramsThatDiffer) {
  Program one, other;
  const auto add = [](Program& program, std::int64_t batch, OpKind op) {
    const ValueId x = program.add_value(Role::Input, {{batch, 3}}, "x");
    program.append_one(op, op_def(op).default_attrs, {x});
  };
  add(one, 4, OpKind::Softmax);
  add(other, 5, OpKind::SquaredNorm);
  EXPECT_TRUE(find_batch_extents(one, other).empty());
  EXPECT_EQ(find_batch_extents(one, one), (BatchExtents{0, 0}));
}

}  // namespace
}  // namespace traingraph::testing
