// SPDX-License-Identifier: MIT
// Shapes, weights, errors and gradient graphs of the losses.
#include "ops/loss_shapes.h"

#include "support/op_program.h"

namespace traingraph {
namespace {

constexpr LossType kElementLosses[] = {LossType::MeanAbsoluteError,
                                       LossType::MeanSquaredError,
                                       LossType::SigmoidCrossEntropy,
                                       LossType::Hinge,
                                       LossType::Huber,
                                       LossType::Log,
                                       LossType::KullbackLeiblerDivergence};
constexpr LossType kClassLosses[] = {LossType::SoftmaxCrossEntropy,
                                     LossType::CategoricalCrossEntropy};

LossAttrs unreduced(LossType type) {
  return {.type = type, .reduction = ReductionType::None};
}

class Loss : public OpProgramTest {
 protected:
  Shape loss_of(LossAttrs attrs, std::initializer_list<Shape> shapes) {
    return shape_of(OpKind::Loss, attrs, inputs(shapes));
  }
  std::string shape_error(LossAttrs attrs,
                          std::initializer_list<Shape> shapes) {
    return error_of<ShapeError>(OpKind::Loss, attrs, inputs(shapes));
  }
  std::string attribute_error(LossAttrs attrs) {
    return error_of<InvalidArgument>(OpKind::Loss, attrs,
                                     inputs({{8, 10}, {8, 10}}));
  }
};

TEST_F(Loss, SumAndMeanGiveOneNumber) {
  for (ReductionType reduction : {ReductionType::Sum, ReductionType::Mean}) {
    for (int type = 0;
         type <= static_cast<int>(LossType::KullbackLeiblerDivergence);
         ++type) {
      const LossAttrs attrs{.type = static_cast<LossType>(type),
                            .reduction = reduction};
      EXPECT_EQ(loss_of(attrs, {{8, 10}, {8, 10}}), (Shape{1}));
    }
  }
}

TEST_F(Loss, UnreducedElementLossesKeepTheShape) {
  for (LossType type : kElementLosses) {
    EXPECT_EQ(loss_of(unreduced(type), {{8, 3, 4}, {8, 3, 4}}),
              (Shape{8, 3, 4}));
    EXPECT_EQ(loss_of(unreduced(type), {{8}, {8}}), (Shape{8}));
  }
}

TEST_F(Loss, UnreducedClassLossesLoseTheClassAxis) {
  for (LossType type : kClassLosses) {
    EXPECT_EQ(loss_of(unreduced(type), {{8, 10}, {8, 10}}), (Shape{8}));
    EXPECT_EQ(loss_of(unreduced(type), {{8, 10, 4, 5}, {8, 10, 4, 5}}),
              (Shape{8, 4, 5}));
  }
}

TEST_F(Loss, UnreducedCosineDistanceIsPerSample) {
  EXPECT_EQ(
      loss_of(unreduced(LossType::CosineDistance), {{8, 10, 4}, {8, 10, 4}}),
      (Shape{8}));
}

TEST_F(Loss, LabelsHaveTheShapeOfThePrediction) {
  EXPECT_TRUE(contains(shape_error({}, {{8, 10}, {8}}),
                       {"\"labels\" must have the shape of \"prediction\"",
                        "expected (8, 10), got (8)"}));
}

TEST_F(Loss, LabelsMayLackAxesOfSizeOne) {
  const LossAttrs each = unreduced(LossType::MeanSquaredError);
  EXPECT_EQ(loss_of(each, {{8, 10, 1, 1}, {8, 10}}), (Shape{8, 10, 1, 1}));
  EXPECT_EQ(loss_of(each, {{8, 10}, {8, 10, 1, 1}}), (Shape{8, 10}));
  EXPECT_EQ(loss_of(each, {{8, 1}, {8}}), (Shape{8, 1}));
  const LossAttrs classes = unreduced(LossType::SoftmaxCrossEntropy);
  EXPECT_EQ(loss_of(classes, {{8, 10, 1, 1}, {8, 10}}), (Shape{8, 1, 1}));
  EXPECT_EQ(loss_of(classes, {{8, 10}, {8, 10, 1, 1}}), (Shape{8}));
}

TEST_F(Loss, LabelsOfElementLossesBroadcast) {
  for (LossType type : kElementLosses) {
    for (const Shape& labels :
         {Shape{8, 1}, Shape{10}, Shape{1}, Shape{1, 10}}) {
      EXPECT_EQ(loss_of(unreduced(type), {{8, 10}, labels}), (Shape{8, 10}));
    }
  }
  for (LossType type : {LossType::SoftmaxCrossEntropy, LossType::CosineDistance,
                        LossType::CategoricalCrossEntropy}) {
    EXPECT_TRUE(contains(shape_error({.type = type}, {{8, 10}, {8, 1}}),
                         {"\"labels\"", "expected (8, 10), got (8, 1)"}));
  }
}

TEST_F(Loss, RefusesLabelsThatFitSamplesAndColumns) {
  EXPECT_TRUE(
      contains(shape_error({}, {{8, 8}, {8}}),
               {"fit both the samples and another axis", "use shape (8, 1)"}));
}

TEST_F(Loss, LabelsMayBeIndicesOfClasses) {
  const auto shape_with = [&](const Shape& labels, DataType type) {
    return shape_of(OpKind::Loss, unreduced(LossType::SoftmaxCrossEntropy),
                    {input({8, 10, 4, 5}), input(labels, type)});
  };
  for (DataType type : {DataType::Int32, DataType::Int64}) {
    for (const Shape& labels :
         {Shape{8, 4, 5}, Shape{8, 1, 4, 5}, Shape{8, 4, 5, 1}}) {
      EXPECT_EQ(shape_with(labels, type), (Shape{8, 4, 5}));
    }
  }
}

TEST_F(Loss, RefusesIndicesThatAreNone) {
  const LossAttrs attrs{.type = LossType::SoftmaxCrossEntropy};
  const auto error_with = [&](const Shape& labels) {
    return error_of<ShapeError>(
        OpKind::Loss, attrs, {input({8, 10}), input(labels, DataType::Int32)});
  };
  EXPECT_TRUE(contains(error_with({8, 10}),
                       {"without its axis 1", "expected (8), got (8, 10)",
                        "cast one-hot labels to float32"}));
  EXPECT_TRUE(contains(error_with({10}), {"expected (8), got (10)"}));
  EXPECT_TRUE(contains(
      shape_error(attrs, {{8, 10}, {8}}),
      {"expected (8, 10), got (8)", "class indices are int32 or int64"}));
  const std::string text =
      error_of<DTypeError>(OpKind::Loss, LossAttrs{},
                           {input({8, 10}), input({8, 10}, DataType::Int32)});
  EXPECT_TRUE(contains(text, {"\"labels\"", "float32"}));
}

TEST_F(Loss, ClassWeightsAreOneForEachClass) {
  const LossAttrs attrs{.type = LossType::SoftmaxCrossEntropy};
  for (const Shape& weights : {Shape{10}, Shape{1, 10, 1, 1}}) {
    EXPECT_EQ(
        shape_of(OpKind::Loss, attrs,
                 {input({8, 10}), input({8, 10}), kNoValue, input(weights)}),
        (Shape{1}));
  }
  const auto error = [&](const LossAttrs& each, const Shape& weights) {
    const std::vector<ValueId> in{input({8, 10}), input({8, 10}), kNoValue,
                                  input(weights)};
    return each.type == attrs.type
               ? error_of<ShapeError>(OpKind::Loss, each, in)
               : error_of<InvalidArgument>(OpKind::Loss, each, in);
  };
  EXPECT_TRUE(contains(error(attrs, {8}),
                       {"one for each class", "expected (10), or", "got (8)"}));
  EXPECT_TRUE(contains(error(attrs, {2, 5}), {"one for each class"}));
  EXPECT_TRUE(contains(error({}, {10}), {"takes no class_weights"}));
}

TEST(LossLabels, RunAlongAxesOfThePrediction) {
  const LossType type = LossType::MeanSquaredError;
  const auto axes = [&](const Shape& prediction, const Shape& labels) {
    return loss_labels_axes(
        labels, loss_labels_shape(type, prediction, labels, false).value());
  };
  EXPECT_EQ(axes({8, 3, 5}, {8, 3, 5}), (Shape{0, 1, 2}));
  EXPECT_EQ(axes({8, 3, 1, 5}, {8, 3, 5}), (Shape{0, 1, 3}));
  EXPECT_EQ(axes({8, 3, 5}, {8, 1, 3, 5}), (Shape{0, 3, 1, 2}));
  EXPECT_EQ(axes({8, 3, 5}, {3, 5}), (Shape{1, 2}));
  EXPECT_EQ(axes({8, 3, 5}, {1, 5}), (Shape{1, 2}));
}

TEST_F(Loss, ClassesNeedAnAxis) {
  for (LossType type :
       {LossType::SoftmaxCrossEntropy, LossType::CategoricalCrossEntropy,
        LossType::CosineDistance}) {
    EXPECT_TRUE(contains(shape_error({.type = type}, {{8}, {8}}),
                         {"\"prediction\"", "at least 2 axes"}));
  }
}

TEST_F(Loss, WeightsOfElementLossesBroadcast) {
  for (LossType type : kElementLosses) {
    for (const Shape& weights :
         {Shape{8, 10}, Shape{8, 1}, Shape{10}, Shape{1}}) {
      EXPECT_EQ(loss_of(unreduced(type), {{8, 10}, {8, 10}, weights}),
                (Shape{8, 10}));
    }
    EXPECT_TRUE(
        contains(shape_error(unreduced(type), {{8, 10}, {8, 10}, {8}}),
                 {"weights do not broadcast", "expected (8, 10), got (8)",
                  "one weight per sample use shape (8, 1)"}));
  }
}

TEST_F(Loss, WeightsMustNotEnlargeTheLosses) {
  EXPECT_TRUE(contains(shape_error({}, {{8, 10}, {8, 10}, {3, 8, 10}}),
                       {"weights do not broadcast", "got (3, 8, 10)"}));
  EXPECT_TRUE(contains(shape_error({}, {{1, 10}, {1, 10}, {8, 10}}),
                       {"weights do not broadcast"}));
}

TEST_F(Loss, WeightsOfClassLossesAreOnePerSampleAndPosition) {
  const Shape image{8, 10, 4, 5};
  for (LossType type : kClassLosses) {
    for (const Shape& weights :
         {Shape{8, 4, 5}, Shape{4, 5}, Shape{5}, Shape{1}, Shape{8, 1, 1},
          Shape{8, 1, 4, 5}, Shape{8, 1, 1, 1}, Shape{1, 1, 4, 5}, Shape{8},
          Shape{8, 1}, Shape{1, 8}}) {
      EXPECT_EQ(loss_of(unreduced(type), {image, image, weights}),
                (Shape{8, 4, 5}))
          << weights.to_string();
    }
    EXPECT_TRUE(
        contains(shape_error(unreduced(type), {image, image, {8, 10, 1, 1}}),
                 {"weights do not broadcast", "expected (8, 4, 5)"}));
    EXPECT_TRUE(contains(shape_error(unreduced(type), {image, image, {10}}),
                         {"weights do not broadcast", "class_weights"}));
  }
}

TEST_F(Loss, RefusesWeightsThatFitSamplesAndPositions) {
  const Shape image{8, 10, 4, 8};
  EXPECT_TRUE(contains(
      shape_error({.type = LossType::SoftmaxCrossEntropy}, {image, image, {8}}),
      {"fit both the samples and another axis", "use shape (8, 1, 1)"}));
}

TEST(LossWeightsShape, SaysHowTheWeightsBroadcast) {
  const LossType type = LossType::SoftmaxCrossEntropy;
  const Shape image{8, 10, 4, 5};
  EXPECT_EQ(loss_weights_shape(type, image, {5}), (Shape{5}));
  EXPECT_EQ(loss_weights_shape(type, image, {8}), (Shape{8, 1, 1}));
  EXPECT_EQ(loss_weights_shape(type, image, {8, 1}), (Shape{8, 1, 1}));
  EXPECT_EQ(loss_weights_shape(type, image, {8, 1, 4, 5}), (Shape{8, 4, 5}));
  EXPECT_EQ(loss_weights_shape(type, image, {1, 1, 1, 5}), (Shape{1, 1, 5}));
  EXPECT_EQ(loss_weights_shape(type, image, {7}), std::nullopt);
  EXPECT_EQ(loss_weights_shape(type, {8, 10}, {8}), (Shape{8}));
  EXPECT_EQ(loss_weights_shape(type, {8, 10}, {8, 1}), (Shape{8}));
  EXPECT_EQ(loss_weights_shape(type, {1, 10, 4, 1}, {1}), (Shape{1}));
}

TEST(LossWeightsShape, OfTheCosineDistanceIsPerSample) {
  const LossType type = LossType::CosineDistance;
  const Shape prediction{8, 10, 4};
  EXPECT_EQ(loss_weights_shape(type, prediction, {8}), (Shape{8}));
  EXPECT_EQ(loss_weights_shape(type, prediction, {1}), (Shape{1}));
  EXPECT_EQ(loss_weights_shape(type, prediction, {8, 1, 1}), (Shape{8}));
  EXPECT_EQ(loss_weights_shape(type, prediction, {1, 1, 1}), (Shape{1}));
  EXPECT_EQ(loss_weights_shape(type, prediction, {8, 1, 4}), std::nullopt);
}

TEST_F(Loss, RefusesBadAttributes) {
  EXPECT_TRUE(contains(attribute_error({.reduction = ReductionType::Max}),
                       {"none, sum or mean", "got max"}));
  EXPECT_TRUE(contains(attribute_error({.type = static_cast<LossType>(99)}),
                       {"type", "got 99"}));
  EXPECT_TRUE(contains(attribute_error({.weight = 1.0f / 0.0f}),
                       {"weight", "a finite number"}));
  EXPECT_TRUE(contains(attribute_error({.label_smoothing = 1.25f}),
                       {"label_smoothing", "0 to 1", "got 1.25"}));
  EXPECT_TRUE(contains(attribute_error({.class_count = 0}),
                       {"class_count", "at least 1"}));
  EXPECT_TRUE(contains(attribute_error({.epsilon = -1}), {"epsilon"}));
  EXPECT_TRUE(contains(attribute_error({.delta = 0}), {"delta", "above 0"}));
}

TEST_F(Loss, GradientGoesToThePredictionOnly) {
  const LossAttrs attrs{.type = LossType::Huber, .delta = 2};
  const auto in = inputs({{8, 10}, {8, 10}, {8, 1}});
  const ValueId loss = append_one(OpKind::Loss, attrs, in);
  const auto map = gradients(loss, input({1}), in);
  EXPECT_EQ(gradient_nodes(),
            (Lines{"loss_gradient(%4, %0, %1, %2, _) -> (8, 10)"}));
  EXPECT_EQ(attrs_of_producer<LossAttrs>(map.at(in[0])), attrs);
  EXPECT_FALSE(map.contains(in[1]));
  EXPECT_FALSE(map.contains(in[2]));
}

TEST_F(Loss, NothingIsAppendedForLabels) {
  const auto in = inputs({{8, 10}, {8, 10}});
  const ValueId loss = append_one(OpKind::Loss, LossAttrs{}, in);
  gradients(loss, input({1}), {in[1]});
  EXPECT_TRUE(gradient_nodes().empty());
}

TEST_F(Loss, GradientOpTakesAGradientLikeTheLoss) {
  const LossAttrs attrs = unreduced(LossType::SoftmaxCrossEntropy);
  EXPECT_EQ(
      shape_of(OpKind::LossGradient, attrs, inputs({{8}, {8, 10}, {8, 10}})),
      (Shape{8, 10}));
  EXPECT_TRUE(contains(error_of<ShapeError>(OpKind::LossGradient, attrs,
                                            inputs({{1}, {8, 10}, {8, 10}})),
                       {"\"gradient\"", "expected (8), got (1)"}));
}

}  // namespace
}  // namespace traingraph
