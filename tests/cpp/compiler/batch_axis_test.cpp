// SPDX-License-Identifier: MIT
// Batch axes of every op: a case that follows the batch is the same program
// whether it was declared at a batch size or resized to it; a case that cannot
// says why.
#include "compiler/passes/batch_axis.h"

#include <gtest/gtest.h>

#include <set>

#include "compiler/batch_cases.h"
#include "layers/graph_state.h"
#include "ops/registry.h"
#include "traingraph/layers.h"

namespace traingraph {
namespace {

using namespace testing;

std::vector<Row> rows() {
  std::vector<Row> all = math_rows();
  for (const Row& row : layout_and_loss_rows()) all.push_back(row);
  for (const Row& row : gather_rows()) all.push_back(row);
  for (const Row& row : attention_rows()) all.push_back(row);
  return all;
}

Program built(const Row& row, std::int64_t batch) {
  Program program;
  Case at(program, batch);
  row.build(at);
  return program;
}

class BatchAxes : public ::testing::TestWithParam<Row> {};

TEST_P(BatchAxes, FollowOrSayWhyNot) {
  const Row& row = GetParam();
  Program program = built(row, kDeclared);
  const auto obstacle = derive_batch_axes(program, kDeclared);
  const Node& last = program.nodes().back();
  if (*row.refused != '\0') {
    ASSERT_TRUE(obstacle.has_value());
    EXPECT_NE(obstacle->what.find(row.refused), std::string::npos)
        << obstacle->what;
    EXPECT_EQ(obstacle->op, last.op->name);
    EXPECT_EQ(obstacle->node, last.name);
    EXPECT_EQ(obstacle->expected, "batch size 6");
    EXPECT_FALSE(obstacle->hint.empty());
    EXPECT_THROW(resize_batch(program, {kDeclared, kSmaller}),
                 UnsupportedError);
    return;
  }
  ASSERT_FALSE(obstacle) << obstacle->what;
  if (!last.outputs.empty()) {
    const BatchAxis& got = program.value(last.outputs[0]).batch;
    EXPECT_EQ(got, row.expected)
        << got.axis << ", " << got.factor << ", " << got.step;
  }
  for (const std::int64_t batch : {kSmaller, std::int64_t{1}}) {
    Program resized = built(row, kDeclared);
    resize_batch(resized, {kDeclared, batch});
    EXPECT_EQ(resized.to_string(), built(row, batch).to_string());
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, BatchAxes, ::testing::ValuesIn(rows()),
                         [](const auto& info) { return info.param.name; });

TEST(BatchAxis, EveryOpHasARuleAndACase) {
  std::set<OpKind> seen;
  for (const Row& row : rows()) {
    seen.insert(built(row, kDeclared).nodes().back().op->kind);
  }
  for (const OpDef& op : op_defs()) {
    EXPECT_NE(op.batch_rule, nullptr) << op.name;
    EXPECT_TRUE(seen.contains(op.kind)) << op.name;
  }
}

TEST(BatchAxis, InputsAreMultiplesOfTheBatch) {
  Program program;
  Case c(program, 6);
  const ValueId x = c.in({6, 2}), tokens = c.in({30}), other = c.in({7, 6});
  const auto obstacle = derive_batch_axes(program, 6);
  EXPECT_EQ(program.value(x).batch, on(0));
  EXPECT_EQ(program.value(tokens).batch, on(0, 5, 0));
  ASSERT_TRUE(obstacle);
  EXPECT_EQ(obstacle->node, program.value(other).name);
  EXPECT_EQ(obstacle->expected, "a multiple of 6 on axis 0");
  EXPECT_EQ(obstacle->got, "(7, 6)");
  EXPECT_NE(obstacle->hint.find("batch_axis"), std::string::npos);
}

TEST(BatchAxis, ShapesOfWeightsDoNotFollowEqualSizes) {
  auto descriptor =
      ConvolutionDescriptor::transposed({.kernel_size = {3, 3},
                                         .input_feature_channel_count = 4,
                                         .output_feature_channel_count = 4,
                                         .group_count = 2});
  const Tensor x({{4, 4, 5, 5}}, "x"), weights({{1, 8, 3, 3}});
  Graph graph;
  graph.node(std::make_shared<layers::Convolution>(
                 descriptor, WeightOptions{.weights = weights}),
             x);
  Program program = graph.state()->program;
  program.value(graph.state()->value_of.at(x.tensor_id())).batch = {.axis = 0};
  resize_batch(program, {.from = 4, .to = 2});
  // Sizes of the weights, which are rearranged, are 4, too.
  for (const Node& node : program.nodes()) {
    const Value& result = program.value(node.outputs[0]);
    const OpKind kind = node.op->kind;
    const bool is_image = kind != OpKind::Reshape && kind != OpKind::Transpose;
    EXPECT_EQ(result.batch.axis, is_image ? 0 : -1) << node.op->name;
    Shape expected = graph.state()->program.shape(node.outputs[0]);
    if (is_image) expected[0] = 2;
    EXPECT_EQ(result.desc.shape, expected) << node.op->name;
  }
}

}  // namespace
}  // namespace traingraph
