// SPDX-License-Identifier: MIT
// From a merged graph to plans: which kinds there are, and which share a
// program.
#include "compiler/compile.h"

#include <gtest/gtest.h>

#include <memory>

#include "compiler/merge.h"
#include "runtime/device/null_backend.h"
#include "traingraph/layers.h"

namespace traingraph {
namespace {

class CompileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    graph_.node(std::make_shared<layers::FullyConnected>(3, 3), x_);
    d.graphs.push_back(graph_.state());
    d.trains = true;
    d.loss = std::make_shared<losses::MeanSquaredError>();
    d.optimizer = std::make_shared<optimizers::SGD>(0.1f, 0.9f);
    d.inputs = {{"x", x_}};
    d.labels = {{"label", label_}};
  }

  Compilation compiled(const CompilerOptions& options = {}) {
    return compile_graph(
        std::make_shared<const MergedGraph>(merge_graphs(d).graph),
        context_->target(), options, 4);
  }

  Declaration d;

 private:
  Graph graph_;
  Tensor x_{{{4, 3}}, "x"}, label_{{{4, 3}}, "label"};
  const std::shared_ptr<DeviceContext> context_ = make_null_context();
};

TEST_F(CompileTest, RunsEveryStage) {
  const Compilation c = compiled();
  for (const auto& [program, plan] : c.parts) {
    EXPECT_EQ(plan.order.size(), program->lowered.units.size());
  }
  const auto& [program, phases] = c.part(PlanKind::Phases);
  EXPECT_EQ(phases.gradient_block.bytes, 2 * 64u);
  for (const Trained& trained : program->assembled.trained) {
    const StorageId id = program->lowered.storage_of[trained.gradient];
    EXPECT_NE(phases.offset_of[id], Plan::kNotInArena);
  }
}

bool shares_program(const Compilation& c) {
  return c.part(PlanKind::Step).program == c.part(PlanKind::Phases).program;
}

TEST_F(CompileTest, AStepThatIsThePhasesInARowHasTheirProgram) {
  const Compilation c = compiled();
  EXPECT_TRUE(shares_program(c));
  EXPECT_EQ(c.programs().size(), 2u);
}

TEST_F(CompileTest, AStepOfSeveralRanksHasAProgramOfItsOwn) {
  const Compilation c = compiled({.collectives = {.bucket_bytes = 1}});
  EXPECT_FALSE(shares_program(c));
  EXPECT_EQ(c.program(PlanKind::Step).variant.timeline, Timeline::OneRun);
}

TEST_F(CompileTest, AStepDropsAccumulators) {
  d.accumulates_gradients = true;
  const Compilation c = compiled();
  EXPECT_FALSE(shares_program(c));
  EXPECT_TRUE(c.program(PlanKind::Phases).variant.accumulates);
  EXPECT_FALSE(c.program(PlanKind::Step).variant.accumulates);
}

TEST_F(CompileTest, AGraphThatDoesNotTrainHasOneProgram) {
  d.trains = false;
  d.loss = nullptr;
  d.optimizer = nullptr;
  d.labels.clear();
  const Compilation c = compiled();
  ASSERT_EQ(c.programs().size(), 1u);
  EXPECT_EQ(c.programs().front(), &c.program(PlanKind::Inference));
}

}  // namespace
}  // namespace traingraph
