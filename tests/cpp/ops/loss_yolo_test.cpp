// SPDX-License-Identifier: MIT
// The YOLO loss: shapes, errors and gradient graph, and values by hand.
#include "support/op_program.h"

namespace traingraph {
namespace {

class YoloLoss : public OpProgramTest {
 protected:
  Shape loss_of(std::initializer_list<Shape> shapes) {
    return shape_of(OpKind::YoloLoss, YoloLossAttrs{}, inputs(shapes));
  }
  std::string shape_error(std::initializer_list<Shape> shapes) {
    return error_of<ShapeError>(OpKind::YoloLoss, YoloLossAttrs{},
                                inputs(shapes));
  }
  std::string attribute_error(const YoloLossAttrs& attrs) {
    return error_of<InvalidArgument>(
        OpKind::YoloLoss, attrs,
        inputs({{2, 14, 3, 3}, {2, 14, 3, 3}, {2, 2}}));
  }
};

TEST_F(YoloLoss, GivesOneNumberPerSample) {
  EXPECT_EQ(loss_of({{8, 14, 3, 5}, {8, 14, 3, 5}, {2, 2}}), (Shape{8}));
  EXPECT_EQ(loss_of({{1, 6, 1, 1}, {1, 6, 1, 1}, {1, 2}}), (Shape{1}));
}

TEST_F(YoloLoss, RefusesBadShapes) {
  EXPECT_TRUE(contains(shape_error({{8, 14, 3}, {8, 14, 3}, {2, 2}}),
                       {"\"prediction\"", "expected 4 axes", "(8, 14, 3)"}));
  EXPECT_TRUE(contains(shape_error({{8, 14, 3, 3}, {8, 14, 3, 4}, {2, 2}}),
                       {"\"labels\"", "expected (8, 14, 3, 3)"}));
  EXPECT_TRUE(contains(shape_error({{8, 14, 3, 3}, {8, 14, 3, 3}, {2, 3}}),
                       {"width and height", "expected (2, 2), got (2, 3)"}));
  EXPECT_TRUE(contains(shape_error({{8, 15, 3, 3}, {8, 15, 3, 3}, {2, 2}}),
                       {"no channels for 2 anchors", "got (8, 15, 3, 3)"}));
  // Five channels have no class.
  EXPECT_TRUE(contains(shape_error({{8, 10, 3, 3}, {8, 10, 3, 3}, {2, 2}}),
                       {"at least one class"}));
}

TEST_F(YoloLoss, RefusesBadAttributes) {
  EXPECT_TRUE(contains(attribute_error({.scale_class_loss = -1}),
                       {"scale_class_loss", "at least 0, got -1"}));
  EXPECT_TRUE(
      contains(attribute_error({.scale_spatial_size_loss = 1.0f / 0.0f}),
               {"scale_spatial_size_loss", "a finite number"}));
  EXPECT_TRUE(contains(attribute_error({.minimum_iou_for_object_presence = 2}),
                       {"minimum_iou_for_object_presence", "0 to 1, got 2"}));
  EXPECT_TRUE(
      contains(attribute_error({.maximum_iou_for_object_absence = 0.8f}),
               {"maximum_iou_for_object_absence", "at most 0.7"}));
}

TEST_F(YoloLoss, GradientGoesToThePredictionOnly) {
  const auto in = inputs({{2, 14, 3, 3}, {2, 14, 3, 3}, {2, 2}});
  const ValueId loss = append_one(OpKind::YoloLoss, YoloLossAttrs{}, in);
  const auto map = gradients(loss, input({2}), in);
  EXPECT_EQ(gradient_nodes(),
            (Lines{"yolo_loss_gradient(%4, %0, %1, %2) -> (2, 14, 3, 3)"}));
  EXPECT_FALSE(map.contains(in[1]));
  EXPECT_FALSE(map.contains(in[2]));
}

}  // namespace
}  // namespace traingraph
