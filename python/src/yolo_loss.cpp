// SPDX-License-Identifier: MIT
// The YOLO loss and its descriptor, whose fields but the anchors may be set.
#include "traingraph/yolo_loss.h"

#include <cstring>

#include "rows.h"

namespace traingraph::python {
namespace {

using losses::Loss;
using losses::YOLOLoss;

/// (A, 2), width and height of each; with a count also 2 A numbers, as ML
/// Compute has them.
std::vector<YOLOLossDescriptor::AnchorBox> anchor_boxes(
    const ArrayLike& boxes, std::optional<std::int64_t> count) {
  const Context context{"YOLOLoss", "anchor_boxes"};
  const py::array array = converted(boxes, DataType::Float32, context);
  const bool has_pairs = array.ndim() == 2 && array.shape(1) == 2;
  const bool is_flat = count && array.ndim() == 1 && array.size() % 2 == 0;
  const auto size = static_cast<std::int64_t>(array.size() / 2);
  if ((!has_pairs && !is_flat) || count.value_or(size) != size) {
    throw InvalidArgument(
        ErrorInfo{.op = "YOLOLoss",
                  .node = {},
                  .what = "anchor_boxes are not width and height each",
                  .expected = count ? "(" + std::to_string(*count) + ", 2)"
                                    : "(number of anchors, 2)",
                  .got = py::str(py::object(array.attr("shape"))),
                  .hint = {}});
  }
  const TensorData data = read_only_data(array, context);
  std::vector<YOLOLossDescriptor::AnchorBox> result(size);
  std::memcpy(result.data(), data.bytes,
              size * sizeof(YOLOLossDescriptor::AnchorBox));
  return result;
}

Array array_of(const std::vector<YOLOLossDescriptor::AnchorBox>& boxes) {
  const auto count = static_cast<std::int64_t>(boxes.size());
  Array array = new_array({.shape = {count, 2}});
  const std::span<std::byte> out = bytes_of(array);
  std::memcpy(out.data(), boxes.data(), out.size());
  return array;
}

void bind_yolo_descriptor(py::module_& m) {
  BoundClass<YOLOLossDescriptor> type(
      m, "YOLOLossDescriptor",
      "anchor_boxes: (A, 2), the width and height of each anchor, in cells; "
      "2 A numbers with anchor_box_count, which is A. Raises InvalidArgument.");
  const auto make = [](const ArrayLike& boxes,
                       std::optional<std::int64_t> count,
                       YOLOLossDescriptor descriptor) {
    descriptor.anchor_boxes = anchor_boxes(boxes, count);
    descriptor.validate();
    return descriptor;
  };
  const auto def = [&](const auto&... rows) {
    def_init<YOLOLossDescriptor>(
        type, "YOLOLossDescriptor", make, plain<ArrayLike>("anchor_boxes"),
        plain("anchor_box_count", std::optional<std::int64_t>()), py::kw_only(),
        rows...);
    (type.def_readwrite(rows.name, rows.member), ...);
  };
  def(row("should_rescore", &YOLOLossDescriptor::should_rescore),
      row("scale_spatial_position_loss",
          &YOLOLossDescriptor::scale_spatial_position_loss),
      row("scale_spatial_size_loss",
          &YOLOLossDescriptor::scale_spatial_size_loss),
      row("scale_no_object_confidence_loss",
          &YOLOLossDescriptor::scale_no_object_confidence_loss),
      row("scale_object_confidence_loss",
          &YOLOLossDescriptor::scale_object_confidence_loss),
      row("scale_class_loss", &YOLOLossDescriptor::scale_class_loss),
      row("minimum_iou_for_object_presence",
          &YOLOLossDescriptor::minimum_iou_for_object_presence),
      row("maximum_iou_for_object_absence",
          &YOLOLossDescriptor::maximum_iou_for_object_absence));
  type.def_property_readonly("anchor_box_count",
                             &YOLOLossDescriptor::anchor_box_count)
      .def_property_readonly("anchor_boxes",
                             [](const YOLOLossDescriptor& self) {
                               return array_of(self.anchor_boxes);
                             });
  bind_value(type);
}

}  // namespace

void bind_yolo_loss(py::module_& m) {
  bind_yolo_descriptor(m);
  SimpleLayer<YOLOLoss, Loss, YOLOLossDescriptor>::bind(
      m, "YOLOLoss",
      "One loss for each sample of a detector. Prediction and labels are "
      "(N, A * (5 + K), H, W) for A anchors and K classes: x, y, width, "
      "height, confidence and classes of each anchor. Labels hold the place "
      "in the cell from 0 to 1, ln(size / anchor), 1 for an object, one-hot "
      "classes; yolo_loss.h has the formula. Takes no weights. It has a "
      "yolo_loss_descriptor; descriptor raises InvalidArgument.",
      py::arg("descriptor"))
      .def_property_readonly("yolo_loss_descriptor",
                             &YOLOLoss::yolo_loss_descriptor)
      .def_property_readonly("descriptor", [](const YOLOLoss& self) {
        throw InvalidArgument(
            ErrorInfo{.op = "YOLOLoss",
                      .node = self.name(),
                      .what = "the YOLO loss has another descriptor",
                      .expected = "yolo_loss_descriptor",
                      .got = "descriptor",
                      .hint = {}});
        return LossDescriptor{};
      });
}

}  // namespace traingraph::python
