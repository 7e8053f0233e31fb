// SPDX-License-Identifier: MIT
// Shapes, errors, forms and gradient graphs of gather, scatter and embedding.
#include "support/op_program.h"

namespace traingraph {
namespace {

class Gathers : public OpProgramTest {
 protected:
  ValueId indices(Shape shape, DataType type = DataType::Int32) {
    return input(shape, type);
  }
};

TEST_F(Gathers, IndicesOfOneAxisNameSlices) {
  const ValueId x = input({4, 5, 6});
  EXPECT_EQ(shape_of(OpKind::Gather, AxisAttrs{0}, {x, indices({9})}),
            (Shape{9, 5, 6}));
  EXPECT_EQ(shape_of(OpKind::Gather, AxisAttrs{2},
                     {x, indices({9}, DataType::Int64)}),
            (Shape{4, 5, 9}));
}

TEST_F(Gathers, IndicesOfAllAxesNameElements) {
  EXPECT_EQ(shape_of(OpKind::Gather, AxisAttrs{1},
                     {input({4, 5, 6}), indices({4, 2, 6})}),
            (Shape{4, 2, 6}));
  EXPECT_EQ(shape_of(OpKind::Gather, AxisAttrs{0}, {input({4}), indices({9})}),
            (Shape{9}));
}

TEST_F(Gathers, OtherIndicesAreRefused) {
  const ValueId x = input({4, 5, 6});
  EXPECT_TRUE(contains(
      error_of<ShapeError>(OpKind::Gather, AxisAttrs{1}, {x, indices({4, 5})}),
      {"source (4, 5, 6)", "1 axis for whole slices, or 3", "got (4, 5)"}));
  EXPECT_TRUE(
      contains(error_of<ShapeError>(OpKind::Gather, AxisAttrs{1},
                                    {x, indices({4, 2, 7})}),
               {"but on axis 1", "expected (4, 2, 6)", "got (4, 2, 7)"}));
  EXPECT_TRUE(contains(error_of<InvalidArgument>(OpKind::Gather, AxisAttrs{3},
                                                 {x, indices({2})}),
                       {"axis", "0 to 2", "got 3"}));
}

TEST_F(Gathers, ScatterHasTheShapeOfItsData) {
  const ValueId data = input({4, 5, 6});
  const ScatterAttrs attrs{.axis = 1};
  EXPECT_EQ(
      shape_of(OpKind::Scatter, attrs, {input({4, 9, 6}), indices({9}), data}),
      (Shape{4, 5, 6}));
  EXPECT_EQ(shape_of(OpKind::Scatter, attrs,
                     {input({4, 2, 6}), indices({4, 2, 6}), data}),
            (Shape{4, 5, 6}));
  EXPECT_TRUE(
      contains(error_of<ShapeError>(OpKind::Scatter, attrs,
                                    {input({4, 8, 6}), indices({9}), data}),
               {"source", "expected (4, 9, 6)", "got (4, 8, 6)"}));
  EXPECT_TRUE(contains(error_of<InvalidArgument>(
                           OpKind::Scatter, ScatterAttrs{1, ReductionType::Max},
                           {input({4, 9, 6}), indices({9}), data}),
                       {"none or sum", "got max"}));
}

TEST_F(Gathers, GradientsAreEachOther) {
  const ValueId x = input({4, 5}), at = indices({4, 3});
  const ValueId y = append_one(OpKind::Gather, AxisAttrs{1}, {x, at});
  gradients(y, input({4, 3}), {x});
  EXPECT_EQ(gradient_nodes(),
            (Lines{"fill() -> (4, 5)", "scatter(%3, %1, %4) -> (4, 5)"}));
}

TEST_F(Gathers, ScatterPassesGradientsToWhatIsInItsResult) {
  const ValueId source = input({4, 3}), at = indices({4, 3});
  const ValueId data = input({4, 5}), g = input({4, 5});
  const ScatterAttrs sum{1, ReductionType::Sum};
  const ValueId y = append_one(OpKind::Scatter, sum, {source, at, data});
  const GradientMap map = gradients(y, g, {source, data});
  EXPECT_EQ(gradient_nodes(), (Lines{"gather(%3, %1) -> (4, 3)"}));
  EXPECT_EQ(map.at(data), g);

  const ValueId z =
      append_one(OpKind::Scatter, ScatterAttrs{1}, {source, at, data});
  gradients(z, g, {source, data});
  const Lines lines = gradient_nodes();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], "scatter_gradient(%3, %1) -> (4, 3)");
  EXPECT_EQ(lines[1], "fill() -> (4, 3)");
  EXPECT_TRUE(contains(lines[2], {"scatter(", "-> (4, 5)"}));
}

TEST_F(Gathers, RowsLieAlongTheLastAxis) {
  for (const Shape& weights : {Shape{7, 3}, Shape{1, 7, 1, 3}}) {
    EXPECT_EQ(shape_of(OpKind::Embedding, EmbeddingAttrs{.padding_index = 6},
                       {variable(weights), indices({4, 5})}),
              (Shape{4, 5, 3}));
    EXPECT_TRUE(
        contains(error_of<InvalidArgument>(OpKind::Embedding,
                                           EmbeddingAttrs{.padding_index = 7},
                                           {variable(weights), indices({4})}),
                 {"padding_index", "0 to 6", "got 7"}));
  }
}

TEST_F(Gathers, OnlyTrainingWithAMaximumNormWritesTheWeights) {
  const auto is_written = [&](const EmbeddingAttrs& attrs) {
    append(OpKind::Embedding, attrs, {variable({7, 3}), indices({4})});
    return mutates(program_.nodes().back(), 0);
  };
  EXPECT_FALSE(is_written({}));
  EXPECT_TRUE(is_written({.maximum_norm = 1}));
  EXPECT_FALSE(is_written({.maximum_norm = 1, .training = false}));
  Attributes attrs = EmbeddingAttrs{.maximum_norm = 1};
  op_def(OpKind::Embedding).inference_form(attrs);
  EXPECT_EQ(attrs,
            Attributes(EmbeddingAttrs{.maximum_norm = 1, .training = false}));
  EXPECT_TRUE(contains(error_of<InvalidArgument>(
                           OpKind::Embedding, EmbeddingAttrs{.maximum_norm = 1},
                           {input({7, 3}), indices({4})}),
                       {"written by this op"}));
}

TEST_F(Gathers, EmbeddingHandsItsOptionsToTheGradient) {
  const ValueId weights = variable({7, 3});
  const ValueId y = append_one(
      OpKind::Embedding,
      EmbeddingAttrs{.padding_index = 2, .scales_gradient_by_frequency = true},
      {weights, indices({4, 5})});
  const GradientMap map = gradients(y, input({4, 5, 3}), {weights});
  EXPECT_EQ(attrs_of_producer<EmbeddingGradientAttrs>(map.at(weights)),
            (EmbeddingGradientAttrs{2, true, {7, 3}}));
}

}  // namespace
}  // namespace traingraph
