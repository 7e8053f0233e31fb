// SPDX-License-Identifier: MIT
// Cases of the YOLO loss: every part by itself and all together, on grids with
// objects in some of the cells.
#include <cmath>

#include "ops/cases.h"

namespace traingraph::testing {
namespace {

/// Labels of a detector with `anchors`: the object of a cell is there for all
/// of them, or, with `for_some`, for every second one.
Domain objects(std::int64_t anchors, bool for_some = false) {
  return [=](const Shape& shape, const RefTensors&, Random& random) {
    RefTensor t = zeros(shape);
    const std::int64_t width = shape[1] / anchors;
    const auto share = [&] {
      return static_cast<double>(pick(random, 1, 999)) / 1000;
    };
    for (std::int64_t n = 0; n < shape[0]; ++n) {
      for (std::int64_t cell = 0; cell < shape[2] * shape[3]; ++cell) {
        if (pick(random, 0, 1) == 0) continue;
        const double x = share(), y = share();
        const double w = 2 * share() - 1, h = 2 * share() - 1;
        const std::int64_t name = pick(random, 5, width - 1);
        for (std::int64_t a = 0; a < anchors; ++a) {
          if (for_some && a % 2 == 1) continue;
          const auto at = [&](std::int64_t c) -> double& {
            return t({n, a * width + c, cell / shape[3], cell % shape[3]});
          };
          at(0) = x;
          at(1) = y;
          at(2) = w;
          at(3) = h;
          at(4) = 1;
          at(name) = 1;
        }
      }
    }
    return t;
  };
}

/// Everything off but one scale.
std::vector<YoloLossAttrs> options() {
  std::vector<YoloLossAttrs> all{{}};
  all.push_back({.should_rescore = false});
  all.push_back({.minimum_iou_for_object_presence = 0.2f,
                 .maximum_iou_for_object_absence = 0.1f});
  all.push_back({.minimum_iou_for_object_presence = 1,
                 .maximum_iou_for_object_absence = 1});
  all.push_back({.minimum_iou_for_object_presence = 0,
                 .maximum_iou_for_object_absence = 0});
  for (auto scale : {&YoloLossAttrs::scale_spatial_position_loss,
                     &YoloLossAttrs::scale_spatial_size_loss,
                     &YoloLossAttrs::scale_no_object_confidence_loss,
                     &YoloLossAttrs::scale_object_confidence_loss,
                     &YoloLossAttrs::scale_class_loss}) {
    YoloLossAttrs one{.scale_spatial_position_loss = 0,
                      .scale_spatial_size_loss = 0,
                      .scale_no_object_confidence_loss = 0,
                      .scale_object_confidence_loss = 0,
                      .scale_class_loss = 0};
    one.*scale = 3;
    all.push_back(one);
  }
  return all;
}

void add(OpCases& cases, const YoloLossAttrs& attrs, const Shape& shape,
         std::int64_t anchors, bool for_some = false) {
  const std::vector<CaseInput> inputs{{shape, uniform(-1.5, 1.5)},
                                      {shape, objects(anchors, for_some)},
                                      {{anchors, 2}, uniform(0.5, 3)}};
  OpCase forward{.op = OpKind::YoloLoss,
                 .attrs = attrs,
                 .inputs = inputs,
                 .max_differences = 24};
  // With a target that follows the prediction the gradient is not that of the
  // value; the gradient op has cases of its own.
  if (!attrs.should_rescore) forward.gradients = {0};
  cases.push_back(forward);
  if (shape.num_elements() > 300) return;
  std::vector<CaseInput> with_gradient{{{shape[0]}}};
  with_gradient.insert(with_gradient.end(), inputs.begin(), inputs.end());
  cases.push_back({.op = OpKind::YoloLossGradient,
                   .attrs = attrs,
                   .inputs = std::move(with_gradient),
                   .tolerance = 8 * kTolerance,
                   .reason = "differences of losses of a few hundred"});
}

}  // namespace

void add_yolo_loss_cases(OpCases& cases, Random&) {
  for (const YoloLossAttrs& attrs : options()) {
    add(cases, attrs, {2, 14, 2, 3}, 2);
  }
  for (const bool rescores : {false, true}) {
    const YoloLossAttrs attrs{.should_rescore = rescores};
    add(cases, attrs, {1, 6, 1, 1}, 1);
    add(cases, attrs, {3, 21, 1, 2}, 3);
    add(cases, attrs, {2, 24, 2, 2}, 4, /*for_some=*/true);
    add(cases, attrs, {4, 50, 7, 7}, 5);
  }
}

}  // namespace traingraph::testing
