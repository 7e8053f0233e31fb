// SPDX-License-Identifier: MIT
// The YOLO loss and its descriptor, whose fields but the anchors may be set.
#include "traingraph/yolo_loss.h"

#include <cstring>

#include "arrays.h"
#include "device.h"
#include "padding.h"

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
  using D = YOLOLossDescriptor;
  const D unset;
  BoundClass<D> type(
      m, "YOLOLossDescriptor",
      "anchor_boxes: (A, 2), the width and height of each anchor, in cells; "
      "2 A numbers with anchor_box_count, which is A. Raises InvalidArgument.");
  type.def(
          py::init([](const ArrayLike& boxes, std::optional<std::int64_t> count,
                      bool should_rescore, float position, float size,
                      float no_object, float object, float classes,
                      float minimum, float maximum) {
            D descriptor{.anchor_boxes = anchor_boxes(boxes, count),
                         .should_rescore = should_rescore,
                         .scale_spatial_position_loss = position,
                         .scale_spatial_size_loss = size,
                         .scale_no_object_confidence_loss = no_object,
                         .scale_object_confidence_loss = object,
                         .scale_class_loss = classes,
                         .minimum_iou_for_object_presence = minimum,
                         .maximum_iou_for_object_absence = maximum};
            descriptor.validate();
            return descriptor;
          }),
          py::arg("anchor_boxes"), py::arg("anchor_box_count") = py::none(),
          py::kw_only(), py::arg("should_rescore") = unset.should_rescore,
          py::arg("scale_spatial_position_loss") = 10.0,
          py::arg("scale_spatial_size_loss") = 10.0,
          py::arg("scale_no_object_confidence_loss") = 5.0,
          py::arg("scale_object_confidence_loss") = 100.0,
          py::arg("scale_class_loss") = 2.0,
          py::arg("minimum_iou_for_object_presence") = 0.7,
          py::arg("maximum_iou_for_object_absence") = 0.3)
      .def_property_readonly("anchor_box_count", &D::anchor_box_count)
      .def_property_readonly(
          "anchor_boxes",
          [](const D& self) { return array_of(self.anchor_boxes); })
      .def_readwrite("should_rescore", &D::should_rescore)
      .def_readwrite("scale_spatial_position_loss",
                     &D::scale_spatial_position_loss)
      .def_readwrite("scale_spatial_size_loss", &D::scale_spatial_size_loss)
      .def_readwrite("scale_no_object_confidence_loss",
                     &D::scale_no_object_confidence_loss)
      .def_readwrite("scale_object_confidence_loss",
                     &D::scale_object_confidence_loss)
      .def_readwrite("scale_class_loss", &D::scale_class_loss)
      .def_readwrite("minimum_iou_for_object_presence",
                     &D::minimum_iou_for_object_presence)
      .def_readwrite("maximum_iou_for_object_absence",
                     &D::maximum_iou_for_object_absence);
  bind_value(type);
}

}  // namespace

void bind_yolo_loss(py::module_& m) {
  bind_yolo_descriptor(m);
  BoundClass<YOLOLoss, Loss, std::shared_ptr<YOLOLoss>>(
      m, "YOLOLoss",
      "One loss for each sample of a detector. Prediction and labels are "
      "(N, A * (5 + K), H, W) for A anchors and K classes: x, y, width, "
      "height, confidence and classes of each anchor. Labels hold the place "
      "in the cell from 0 to 1, ln(size / anchor), 1 for an object, one-hot "
      "classes; yolo_loss.h has the formula. Takes no weights. It has a "
      "yolo_loss_descriptor; descriptor raises InvalidArgument.")
      .def(py::init([](const YOLOLossDescriptor& descriptor,
                       const std::string& label) {
             return make_layer<YOLOLoss>(label, descriptor);
           }),
           py::arg("descriptor"), py::kw_only(), py::arg("label") = "")
      .def_property_readonly("yolo_loss_descriptor",
                             &YOLOLoss::yolo_loss_descriptor)
      .def_property_readonly("descriptor", [](const YOLOLoss& self) {
        throw InvalidArgument(
            ErrorInfo{.op = "YOLOLoss",
                      .node = self.label(),
                      .what = "the YOLO loss has another descriptor",
                      .expected = "yolo_loss_descriptor",
                      .got = "descriptor",
                      .hint = {}});
        return LossDescriptor{};
      });
}

}  // namespace traingraph::python
