// SPDX-License-Identifier: MIT
// Losses: each type takes the descriptor's fields that it uses, and no others.
#include "traingraph/losses.h"

#include "arrays.h"
#include "device.h"
#include "padding.h"

namespace traingraph::python {
namespace {

using Given = std::optional<TensorOrArray>;
using losses::Loss;

void bind_loss_descriptor(py::module_& m) {
  BoundClass<LossDescriptor> type(m, "LossDescriptor");
  type.def(py::init([](LossType type, ReductionType reduction, float weight,
                       float label_smoothing, std::int64_t class_count,
                       float epsilon, float delta, std::int64_t ignore_index) {
             const LossDescriptor descriptor{.loss_type = type,
                                             .reduction_type = reduction,
                                             .weight = weight,
                                             .label_smoothing = label_smoothing,
                                             .class_count = class_count,
                                             .epsilon = epsilon,
                                             .delta = delta,
                                             .ignore_index = ignore_index};
             descriptor.validate();
             return descriptor;
           }),
           py::arg("loss_type"), py::arg("reduction_type") = "mean",
           py::arg("weight") = 1.0, py::arg("label_smoothing") = 0.0,
           whole("class_count") = 1, py::arg("epsilon") = 1e-7,
           py::arg("delta") = 1.0, whole("ignore_index") = -100)
      .def_readonly("loss_type", &LossDescriptor::loss_type)
      .def_readonly("reduction_type", &LossDescriptor::reduction_type)
      .def_readonly("weight", &LossDescriptor::weight)
      .def_readonly("label_smoothing", &LossDescriptor::label_smoothing)
      .def_readonly("class_count", &LossDescriptor::class_count)
      .def_readonly("epsilon", &LossDescriptor::epsilon)
      .def_readonly("delta", &LossDescriptor::delta)
      .def_readonly("ignore_index", &LossDescriptor::ignore_index);
  bind_value(type);
}

/// A loss of one type, of a descriptor that names the same.
template <class Class, class... Weights>
std::shared_ptr<Class> make_from(const std::string& label,
                                 const LossDescriptor& descriptor,
                                 const Weights&... weights) {
  auto loss = make_layer<Class>(label, descriptor, weights...);
  const LossType type = loss->descriptor().loss_type;
  if (type == descriptor.loss_type) return loss;
  throw InvalidArgument(
      ErrorInfo{.op = "Loss",
                .node = label,
                .what = "loss_type is another than that of the class",
                .expected = std::string(to_string(type)),
                .got = std::string(to_string(descriptor.loss_type)),
                .hint = "Use losses.Loss for any type."});
}

/// Which fields a loss has beyond reduction, weight and weights.
template <class Class, auto... kFields>
struct LossOf {
  template <auto kField>
  using FieldOf =
      std::remove_reference_t<decltype(std::declval<LossDescriptor&>().*
                                       kField)>;

  template <class... Extra>
  static void bind(py::module_& m, const char* name, const char* doc,
                   const Extra&... fields) {
    BoundClass<Class, Loss, std::shared_ptr<Class>>(m, name, doc)
        .def(py::init([](const LossDescriptor& descriptor, const Given& weights,
                         const std::string& label) {
               return make_from<Class>(label, descriptor,
                                       to_tensor(weights, "weights"));
             }),
             py::arg("descriptor"), py::kw_only(),
             py::arg("weights") = py::none(), py::arg("label") = "")
        .def(py::init([](ReductionType reduction, FieldOf<kFields>... values,
                         float weight, const Given& weights,
                         const std::string& label) {
               LossDescriptor options{.reduction_type = reduction,
                                      .weight = weight};
               ((options.*kFields = values), ...);
               return make_layer<Class>(label, options,
                                        to_tensor(weights, "weights"));
             }),
             py::arg("reduction_type") = "mean", py::kw_only(), fields...,
             py::arg("weight") = 1.0, py::arg("weights") = py::none(),
             py::arg("label") = "");
  }
};

/// The losses over classes.
template <class Class>
void bind_class_loss(py::module_& m, const char* name, const char* doc) {
  BoundClass<Class, Loss, std::shared_ptr<Class>>(m, name, doc)
      .def(py::init([](const LossDescriptor& descriptor, const Given& weights,
                       const Given& class_weights, const std::string& label) {
             return make_from<Class>(label, descriptor,
                                     to_tensor(weights, "weights"),
                                     to_tensor(class_weights, "class_weights"));
           }),
           py::arg("descriptor"), py::kw_only(),
           py::arg("weights") = py::none(),
           py::arg("class_weights") = py::none(), py::arg("label") = "")
      .def(py::init([](ReductionType reduction, float label_smoothing,
                       std::int64_t class_count, std::int64_t ignore_index,
                       float weight, const Given& weights,
                       const Given& class_weights, const std::string& label) {
             const LossDescriptor options{.reduction_type = reduction,
                                          .weight = weight,
                                          .label_smoothing = label_smoothing,
                                          .class_count = class_count,
                                          .ignore_index = ignore_index};
             return make_layer<Class>(
                 label, options, to_tensor(weights, "weights"),
                 to_tensor(class_weights, "class_weights"));
           }),
           py::arg("reduction_type") = "mean", py::kw_only(),
           py::arg("label_smoothing") = 0.0, whole("class_count") = 1,
           whole("ignore_index") = -100, py::arg("weight") = 1.0,
           py::arg("weights") = py::none(),
           py::arg("class_weights") = py::none(), py::arg("label") = "");
}

}  // namespace

void bind_losses(py::module_& m) {
  bind_loss_descriptor(m);
  BoundClass<Loss, Layer, std::shared_ptr<Loss>>(
      m, "Loss",
      "A layer with sources prediction, labels and optionally weights. Labels "
      "have the prediction's shape, give or take axes of size 1 behind the "
      "first; those of losses without classes and samples may broadcast to it; "
      "those of the class losses may be int32 or int64 indices of classes, "
      "(N, H, W) for (N, K, H, W). weight: one factor; weights: broadcast to "
      "the element losses; class_weights: one for each class.")
      .def(py::init([](const LossDescriptor& descriptor, const Given& weights,
                       const Given& class_weights, const std::string& label) {
             return make_layer<Loss>(label, descriptor,
                                     to_tensor(weights, "weights"),
                                     to_tensor(class_weights, "class_weights"));
           }),
           py::arg("descriptor"), py::arg("weights") = py::none(),
           py::kw_only(), py::arg("class_weights") = py::none(),
           py::arg("label") = "")
      .def_static(
          "supports_data_type",
          [](DataType data_type, const DeviceLike& device) {
            return Loss::supports_data_type(data_type, to_device(device));
          },
          py::arg("data_type"), py::arg("device"),
          "May a source of a loss have this type on this device?")
      .def_property_readonly("descriptor", &Loss::descriptor)
      .def_property_readonly("weights",
                             [](const Loss& self) {
                               return self.weights()
                                          ? std::optional(self.weights())
                                          : std::nullopt;
                             })
      .def_property_readonly("class_weights", [](const Loss& self) {
        return self.class_weights() ? std::optional(self.class_weights())
                                    : std::nullopt;
      });
  using D = LossDescriptor;
  const auto label_smoothing = [] { return py::arg("label_smoothing"); };
  LossOf<losses::MeanAbsoluteError>::bind(m, "MeanAbsoluteError", "|y - t|");
  LossOf<losses::MeanSquaredError>::bind(m, "MeanSquaredError", "(y - t)^2");
  bind_class_loss<losses::SoftmaxCrossEntropy>(
      m, "SoftmaxCrossEntropy",
      "-sum_c t ln softmax(y), over axis 1. Labels are shares of each class, "
      "or "
      "indices of classes; then ignore_index is no label at all, and the mean "
      "divides by the class weights of the others.");
  LossOf<losses::SigmoidCrossEntropy, &D::label_smoothing>::bind(
      m, "SigmoidCrossEntropy", "max(y, 0) - y t + ln(1 + exp(-|y|))",
      label_smoothing() = 0.0);
  bind_class_loss<losses::CategoricalCrossEntropy>(
      m, "CategoricalCrossEntropy",
      "-sum_c t ln y, over axis 1; labels as those of SoftmaxCrossEntropy.");
  LossOf<losses::Hinge>::bind(m, "Hinge", "max(0, 1 - (2 t - 1) y)");
  LossOf<losses::Huber, &D::delta>::bind(
      m, "Huber", "e = y - t: e^2 / 2, or delta (|e| - delta / 2) beyond delta",
      py::arg("delta") = 1.0);
  LossOf<losses::CosineDistance>::bind(
      m, "CosineDistance", "1 - sum(y t) per sample; give unit vectors.");
  LossOf<losses::Log, &D::epsilon>::bind(
      m, "Log", "-t ln(y + epsilon) - (1 - t) ln(1 - y + epsilon)",
      py::arg("epsilon") = 1e-7);
  LossOf<losses::KullbackLeiblerDivergence>::bind(
      m, "KullbackLeiblerDivergence",
      "t (ln t - y), y the logarithm of a probability; 0 where t is 0");
  bind_yolo_loss(m);
}

}  // namespace traingraph::python
