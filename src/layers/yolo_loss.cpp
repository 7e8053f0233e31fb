// SPDX-License-Identifier: MIT
#include "traingraph/yolo_loss.h"

#include <utility>

#include "layers/layer_builder.h"
#include "layers/validate.h"

namespace traingraph {
namespace {

constexpr const char* kYOLOLoss = "YOLOLoss";

void require_scale(const char* field, float scale) {
  require_finite(kYOLOLoss, field, scale);
  require_option(scale >= 0, kYOLOLoss, field, "at least 0",
                 format_value(scale));
}

Tensor anchors_of(const YOLOLossDescriptor& descriptor) {
  descriptor.validate();
  std::vector<float> sizes;
  for (const auto& box : descriptor.anchor_boxes) {
    sizes.insert(sizes.end(), box.begin(), box.end());
  }
  return {{{descriptor.anchor_box_count(), 2}},
          TensorData(sizes),
          {},
          std::nullopt};
}

}  // namespace

void YOLOLossDescriptor::validate() const {
  require_option(!anchor_boxes.empty(), kYOLOLoss, "anchor_boxes",
                 "at least one", "none");
  for (const AnchorBox& box : anchor_boxes) {
    for (const float size : box) {
      require_finite(kYOLOLoss, "anchor_boxes", size);
      require_option(size > 0, kYOLOLoss, "anchor_boxes", "sizes above 0",
                     format_value(size));
    }
  }
  require_scale("scale_spatial_position_loss", scale_spatial_position_loss);
  require_scale("scale_spatial_size_loss", scale_spatial_size_loss);
  require_scale("scale_no_object_confidence_loss",
                scale_no_object_confidence_loss);
  require_scale("scale_object_confidence_loss", scale_object_confidence_loss);
  require_scale("scale_class_loss", scale_class_loss);
  require_within(kYOLOLoss, "minimum_iou_for_object_presence",
                 minimum_iou_for_object_presence, 0, 1);
  require_within(kYOLOLoss, "maximum_iou_for_object_absence",
                 maximum_iou_for_object_absence, 0, 1);
  require_option(
      maximum_iou_for_object_absence <= minimum_iou_for_object_presence,
      kYOLOLoss, "maximum_iou_for_object_absence",
      "at most minimum_iou_for_object_presence",
      format_value(maximum_iou_for_object_absence) + " > " +
          format_value(minimum_iou_for_object_presence));
}

namespace losses {

YOLOLoss::YOLOLoss(YOLOLossDescriptor descriptor)
    : Loss(LossType::MeanSquaredError, {.reduction_type = ReductionType::None},
           {}, {}, kYOLOLoss),
      yolo_(std::move(descriptor)),
      anchors_(anchors_of(yolo_)) {
  name_tensor(anchors_, "anchor_boxes");
}

std::vector<Tensor> YOLOLoss::extra_sources_with(const Tensor& weights) const {
  return {weights, anchors_};
}

void YOLOLoss::lower(LayerBuilder& builder) const {
  if (builder.num_sources() > 3) {
    throw InvalidArgument(
        {.op = "node",
         .node = builder.name(),
         .what = "the YOLO loss takes no weights",
         .expected = "a prediction and its labels",
         .got = std::to_string(builder.num_sources() - 1) + " sources",
         .hint = "The scales of its descriptor weigh its parts."});
  }
  builder.require_sources(3, 3);
  const YoloLossAttrs attrs{
      .should_rescore = yolo_.should_rescore,
      .scale_spatial_position_loss = yolo_.scale_spatial_position_loss,
      .scale_spatial_size_loss = yolo_.scale_spatial_size_loss,
      .scale_no_object_confidence_loss = yolo_.scale_no_object_confidence_loss,
      .scale_object_confidence_loss = yolo_.scale_object_confidence_loss,
      .scale_class_loss = yolo_.scale_class_loss,
      .minimum_iou_for_object_presence = yolo_.minimum_iou_for_object_presence,
      .maximum_iou_for_object_absence = yolo_.maximum_iou_for_object_absence};
  builder.add_result(builder.append(
      OpKind::YoloLoss, attrs,
      {builder.source(0), builder.source(1), builder.source(2)}));
}

}  // namespace losses
}  // namespace traingraph
