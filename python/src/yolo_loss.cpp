// SPDX-License-Identifier: MIT
// The YOLO loss and its descriptor, whose fields but the anchors may be set.
#include "traingraph/yolo_loss.h"

#include <cstring>

#include "rows.h"

namespace traingraph::python {
namespace {

using losses::Loss;
using losses::YOLOLoss;

constexpr const char* kYOLOLossDescriptorDoc = R"pbdoc(
    The anchors and options of YOLOLoss, as ML Compute has them.

    All but the anchors may be set later, until a layer takes them.

    Raises:
        InvalidArgument: for anchors that are not above 0, and options out of range.
)pbdoc";

constexpr const char* kYOLOLossDoc = R"pbdoc(
    The loss of a detector that finds boxes in the cells of a grid; one for each sample.

    Prediction and labels are (N, A * (5 + K), H, W) for A anchors and K classes: x, y, w,
    h, c and K scores of each anchor. The box is centred at sigmoid(x), sigmoid(y) in its
    cell and has the size anchor * exp(w), anchor * exp(h), in cells; its confidence is
    sigmoid(c), its classes are softmax(scores). Labels have the centre in the cell from
    0 to 1, ln(size / anchor), 1 for an object or 0 for none, and one-hot classes.

    Of the anchors of a cell with an object, the one that overlaps it most and all that
    do so by minimum_iou_for_object_presence are responsible for it. With bce the
    cross-entropy of sigmoid(c), and huber that of delta 1, the loss is the sum over ::

        responsible   scale_spatial_position_loss * squared errors of x, y
                      + scale_spatial_size_loss * huber errors of w, h
                      + scale_object_confidence_loss * bce(c, overlap or 1)
                      + scale_class_loss * cross-entropy of the classes
        others        scale_no_object_confidence_loss * bce(c, 0), without an object or
                      with less overlap than maximum_iou_for_object_absence

    It takes no weights. Who is responsible counts as labels: no gradient passes.

    Args:
        descriptor: A YOLOLossDescriptor.

    Raises:
        InvalidArgument: for options out of range.
        ShapeError: from node(), for channels that are not those of the anchors.

    Example:
        >>> image, boxes = tg.Tensor((4, 3, 8, 8)), tg.Tensor((4, 14, 8, 8))
        >>> options = tg.losses.YOLOLossDescriptor([(1, 2), (2, 1)])
        >>> g = tg.Graph()
        >>> found = g.node(tg.layers.Convolution(14, 3), image)
        >>> g.node(tg.losses.YOLOLoss(options), [found, boxes]).shape
        (4,)
)pbdoc";

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
  BoundClass<YOLOLossDescriptor> type(m, "YOLOLossDescriptor",
                                      kYOLOLossDescriptorDoc);
  const auto make = [](const ArrayLike& boxes,
                       std::optional<std::int64_t> count,
                       YOLOLossDescriptor descriptor) {
    descriptor.anchor_boxes = anchor_boxes(boxes, count);
    descriptor.validate();
    return descriptor;
  };
  const auto def = [&](const auto&... rows) {
    def_init<YOLOLossDescriptor>(
        type, "YOLOLossDescriptor", make,
        plain<ArrayLike>("anchor_boxes",
                         "Width and height of each anchor, in cells, (A, 2); "
                         "with anchor_box_count also 2 A numbers."),
        plain("anchor_box_count", std::optional<std::int64_t>(),
              "The number of anchors A; None: what anchor_boxes has."),
        py::kw_only(), rows...);
    (type.def_readwrite(rows.name, rows.member), ...);
  };
  def(row("should_rescore", &YOLOLossDescriptor::should_rescore,
          "Is the target of the confidence the overlap? Else it is 1."),
      row("scale_spatial_position_loss",
          &YOLOLossDescriptor::scale_spatial_position_loss,
          "Weighs errors of the place."),
      row("scale_spatial_size_loss",
          &YOLOLossDescriptor::scale_spatial_size_loss,
          "Weighs errors of the size."),
      row("scale_no_object_confidence_loss",
          &YOLOLossDescriptor::scale_no_object_confidence_loss,
          "Weighs confidence where there is nothing."),
      row("scale_object_confidence_loss",
          &YOLOLossDescriptor::scale_object_confidence_loss,
          "Weighs confidence where there is an object."),
      row("scale_class_loss", &YOLOLossDescriptor::scale_class_loss,
          "Weighs errors of the classes."),
      row("minimum_iou_for_object_presence",
          &YOLOLossDescriptor::minimum_iou_for_object_presence,
          "Anchors that overlap an object by this, from 0 to 1, are "
          "responsible for it."),
      row("maximum_iou_for_object_absence",
          &YOLOLossDescriptor::maximum_iou_for_object_absence,
          "Anchors that overlap it by less, up to the minimum, have found "
          "nothing."));
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
      m, "YOLOLoss", kYOLOLossDoc, py::arg("descriptor"))
      .def_property_readonly("yolo_loss_descriptor",
                             &YOLOLoss::yolo_loss_descriptor,
                             "The anchors and options.")
      .def_property_readonly(
          "descriptor",
          [](const YOLOLoss& self) {
            throw InvalidArgument(
                ErrorInfo{.op = "YOLOLoss",
                          .node = self.name(),
                          .what = "the YOLO loss has another descriptor",
                          .expected = "yolo_loss_descriptor",
                          .got = "descriptor",
                          .hint = {}});
            return LossDescriptor{};
          },
          "Raises InvalidArgument: a YOLO loss has a yolo_loss_descriptor.");
}

}  // namespace traingraph::python
