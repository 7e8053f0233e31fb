// SPDX-License-Identifier: MIT
// Attribute structs of the loss family. Include op_attrs.h instead.
#pragma once

#include <cstdint>

#include "traingraph/enums.h"
#include "traingraph/op_field.h"

namespace traingraph {

/// Formulas are in losses.h. `ignore_index` is for labels that are indices of
/// classes.
struct LossAttrs {
  LossType type = LossType::MeanSquaredError;
  ReductionType reduction = ReductionType::Mean;
  float weight = 1;
  float label_smoothing = 0;
  std::int64_t class_count = 1;
  float epsilon = 1e-7f;
  float delta = 1;
  std::int64_t ignore_index = -100;
  TRAINGRAPH_FIELDS(LossAttrs, TRAINGRAPH_REQUIRED(type),
                    TRAINGRAPH_FIELD(reduction), TRAINGRAPH_FIELD(weight),
                    TRAINGRAPH_FIELD(label_smoothing),
                    TRAINGRAPH_FIELD(class_count), TRAINGRAPH_FIELD(epsilon),
                    TRAINGRAPH_FIELD(delta), TRAINGRAPH_FIELD(ignore_index))
};

/// The fields of YOLOLossDescriptor; the formula is in yolo_loss.h.
struct YoloLossAttrs {
  bool should_rescore = true;
  float scale_spatial_position_loss = 10;
  float scale_spatial_size_loss = 10;
  float scale_no_object_confidence_loss = 5;
  float scale_object_confidence_loss = 100;
  float scale_class_loss = 2;
  float minimum_iou_for_object_presence = 0.7f;
  float maximum_iou_for_object_absence = 0.3f;
  TRAINGRAPH_FIELDS(YoloLossAttrs, TRAINGRAPH_FIELD(should_rescore),
                    TRAINGRAPH_FIELD(scale_spatial_position_loss),
                    TRAINGRAPH_FIELD(scale_spatial_size_loss),
                    TRAINGRAPH_FIELD(scale_no_object_confidence_loss),
                    TRAINGRAPH_FIELD(scale_object_confidence_loss),
                    TRAINGRAPH_FIELD(scale_class_loss),
                    TRAINGRAPH_FIELD(minimum_iou_for_object_presence),
                    TRAINGRAPH_FIELD(maximum_iou_for_object_absence))
};

/// Connectionist temporal classification; the formula is in ctc_loss.h.
struct CtcLossAttrs {
  std::int64_t blank = 0;
  bool zero_infinity = false;
  bool divides_by_label_length = false;
  TRAINGRAPH_FIELDS(CtcLossAttrs, TRAINGRAPH_FIELD(blank),
                    TRAINGRAPH_FIELD(zero_infinity),
                    TRAINGRAPH_FIELD(divides_by_label_length))
};

}  // namespace traingraph
