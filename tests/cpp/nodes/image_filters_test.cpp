// SPDX-License-Identifier: MIT
// What a program says of the filters that its ops were made for, from the
// builder through merging to the passes.
#include <gtest/gtest.h>

#include <list>

#include "compiler/assemble.h"
#include "compiler/merge.h"
#include "graph/image_filter.h"
#include "nodes/filter_builder.h"
#include "nodes/node_check.h"
#include "runtime/device/null_backend.h"
#include "traingraph/nodes.h"

namespace traingraph {
namespace {

using nodes::FilterNode;
using nodes::ImageNode;

/// A convolution, ReLU, max pooling, their gradients, and a sum of an image
/// with itself.
class ImageFiltersTest : public ::testing::Test {
 protected:
  nodes::NodeProgram& add_chain(const std::string& name) {
    const ImageNode image(name + ".image", {4, 6, 6});
    const ImageNode gradient(name + ".gradient", {8, 3, 3});
    const auto weights = std::make_shared<testing::GivenWeights>(
        nodes::ConvolutionDescriptor{.kernel_size = {3, 3},
                                     .input_feature_channels = 4,
                                     .output_feature_channels = 8},
        1);
    const nodes::ConvolutionNode conv(image, weights);
    const nodes::ReLUNode relu(conv.result_image());
    const nodes::PoolingMaxNode pool(relu.result_image(),
                                     {.kernel_size = {2, 2}});
    const auto pool_gradient = pool.gradient_filter(gradient);
    const auto relu_gradient =
        relu.gradient_filter(pool_gradient.result_image());
    const auto conv_gradient =
        conv.gradient_filter(relu_gradient.result_image());
    const nodes::AdditionNode twice(conv_gradient.result_image(),
                                    conv_gradient.result_image());
    added_ = {conv,          relu,          pool, pool_gradient,
              relu_gradient, conv_gradient, twice};
    programs_.emplace_back(
        2, std::unordered_set<const nodes::FilterState*>{
               conv.state().get(), relu.state().get(), pool.state().get()});
    nodes::NodeProgram& program = programs_.back();
    for (const FilterNode& filter : added_) {
      program.add(*filter.state(), filter.class_name());
    }
    program.name_filters();
    return program;
  }

  static void expect_whole(const Program& program) {
    const auto& filters = program.filters->filters;
    for (std::size_t i = 0; i < filters.size(); ++i) {
      const NodeId producer = program.value(filters[i].result).producer;
      ASSERT_GE(producer, 0) << filters[i].label;
      EXPECT_EQ(program.node(producer).filter, static_cast<int>(i));
      for (const ValueId source : filters[i].sources) {
        const NodeId before = program.value(source).producer;
        if (before < 0) continue;
        EXPECT_NE(program.node(before).filter, static_cast<int>(i))
            << filters[i].label << " reads an image of its own";
      }
    }
  }

  std::list<nodes::NodeProgram> programs_;
  std::vector<FilterNode> added_;
};

TEST_F(ImageFiltersTest, EachHasItsAttributesImagesAndParameters) {
  const Program& program = add_chain("a").program();
  expect_whole(program);
  const auto& filters = program.filters->filters;
  ASSERT_EQ(filters.size(), 7u);
  EXPECT_TRUE(std::holds_alternative<ConvolutionFilter>(filters[0].attrs));
  EXPECT_EQ(program.shape(value_of(filters[0].parameters, "weights")),
            (Shape{8, 3, 3, 4}));
  EXPECT_EQ(program.shape(value_of(filters[0].parameters, "biases")),
            (Shape{8}));
  EXPECT_EQ(value_of(filters[0].parameters, "gamma"), kNoValue);
  const auto& pooling = std::get<PoolingFilter>(filters[2].attrs);
  EXPECT_EQ(pooling.kind, PoolingKind::Max);
  EXPECT_EQ(pooling.options.strides, (Pair{2, 2}));
  EXPECT_EQ(std::get<GradientFilter>(filters[3].attrs).of, 2);
  EXPECT_EQ(std::get<GradientFilter>(filters[5].attrs).of, 0);
  EXPECT_EQ(program.shape(value_of(filters[5].parameter_gradients, "weights")),
            (Shape{8, 3, 3, 4}));
  EXPECT_EQ(filters[6].sources,
            (std::vector<ValueId>{filters[5].result, filters[5].result}));
}

TEST_F(ImageFiltersTest, OneCannotBeTakenForAnotherWhenGraphsAreMerged) {
  Declaration declaration;
  declaration.allows_undeclared = true;
  declaration.graphs.push_back(add_chain("a").graph().state());
  declaration.graphs.push_back(add_chain("b").graph().state());
  const Merged merged = merge_graphs(declaration);
  const Program& program = merged.graph.program;
  ASSERT_EQ(program.filters->filters.size(), 14u);
  expect_whole(program);
  EXPECT_EQ(std::get<GradientFilter>(program.filters->filters[12].attrs).of, 7);
}

TEST_F(ImageFiltersTest, WhoDoesNotNameThemHasOps) {
  nodes::NodeProgram& nodes = add_chain("a");
  nodes.program().filters = nullptr;
  Declaration declaration;
  declaration.allows_undeclared = true;
  declaration.graphs.push_back(nodes.graph().state());
  const Merged merged = merge_graphs(declaration);
  const Program& program = merged.graph.program;
  EXPECT_EQ(program.filters, nullptr);
  for (const Node& node : program.nodes()) EXPECT_EQ(node.filter, -1);
}

/// Pooling before ReLU is the same and cheaper, but there are filters that
/// read what is between.
TEST_F(ImageFiltersTest, PassesLeaveFiltersWhole) {
  Declaration declaration;
  declaration.allows_undeclared = true;
  nodes::NodeProgram& nodes = add_chain("a");
  declaration.graphs.push_back(nodes.graph().state());
  const ValueId pooled = nodes.lowered(*added_[2].state()).result;
  declaration.outputs.emplace("pooled", nodes.tensor(pooled, "pooled"));
  const Merged merged = merge_graphs(declaration);
  const Assembled assembled =
      assemble(merged.graph, {}, 2, make_null_context()->target());
  const auto& filters = assembled.program.filters->filters;
  EXPECT_EQ(assembled.program.shape(filters[1].result), (Shape{2, 8, 6, 6}));
  for (int i = 0; i < 3; ++i) {
    const NodeId made_by = assembled.program.value(filters[i].result).producer;
    EXPECT_EQ(assembled.program.node(made_by).filter, i);
  }
}

}  // namespace
}  // namespace traingraph
