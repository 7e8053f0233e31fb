// SPDX-License-Identifier: MIT
// Losses: each type takes the descriptor's fields that it uses, and no others.
#include "traingraph/losses.h"

#include "arrays.h"
#include "device.h"
#include "padding.h"

namespace traingraph::python {
namespace {

using Descriptor = LossDescriptor;
using Given = std::optional<TensorOrArray>;
using losses::Loss;

void bind_descriptor(py::module_& m) {
  BoundClass<Descriptor>(m, "LossDescriptor")
      .def(py::init([](LossType type, ReductionType reduction, float weight,
                       float label_smoothing, std::int64_t class_count,
                       float epsilon, float delta) {
             const Descriptor descriptor{.loss_type = type,
                                         .reduction_type = reduction,
                                         .weight = weight,
                                         .label_smoothing = label_smoothing,
                                         .class_count = class_count,
                                         .epsilon = epsilon,
                                         .delta = delta};
             descriptor.validate();
             return descriptor;
           }),
           py::arg("loss_type"), py::arg("reduction_type") = "mean",
           py::arg("weight") = 1.0, py::arg("label_smoothing") = 0.0,
           whole("class_count") = 1, py::arg("epsilon") = 1e-7,
           py::arg("delta") = 1.0)
      .def_readonly("loss_type", &Descriptor::loss_type)
      .def_readonly("reduction_type", &Descriptor::reduction_type)
      .def_readonly("weight", &Descriptor::weight)
      .def_readonly("label_smoothing", &Descriptor::label_smoothing)
      .def_readonly("class_count", &Descriptor::class_count)
      .def_readonly("epsilon", &Descriptor::epsilon)
      .def_readonly("delta", &Descriptor::delta)
      .def("__copy__", [](const Descriptor& self) { return Descriptor(self); });
}

/// A loss of one type, of a descriptor that names the same.
template <class Class>
std::shared_ptr<Class> make_from(const Descriptor& descriptor,
                                 const Given& weights,
                                 const std::string& label) {
  auto loss =
      make_layer<Class>(label, descriptor, to_tensor(weights, "weights"));
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
      std::remove_reference_t<decltype(std::declval<Descriptor&>().*kField)>;

  template <class... Extra>
  static void bind(py::module_& m, const char* name, const char* doc,
                   const Extra&... fields) {
    BoundClass<Class, Loss, std::shared_ptr<Class>>(m, name, doc)
        .def(py::init(&make_from<Class>), py::arg("descriptor"), py::kw_only(),
             py::arg("weights") = py::none(), py::arg("label") = "")
        .def(py::init([](ReductionType reduction, FieldOf<kFields>... values,
                         float weight, const Given& weights,
                         const std::string& label) {
               Descriptor options{.reduction_type = reduction,
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

}  // namespace

void bind_losses(py::module_& m) {
  bind_descriptor(m);
  BoundClass<Loss, Layer, std::shared_ptr<Loss>>(
      m, "Loss",
      "A layer with sources prediction, labels and optionally weights; labels "
      "have the prediction's shape. weight: one factor; weights: broadcast to "
      "the element losses.")
      .def(py::init([](const Descriptor& descriptor, const Given& weights,
                       const std::string& label) {
             return make_layer<Loss>(label, descriptor,
                                     to_tensor(weights, "weights"));
           }),
           py::arg("descriptor"), py::arg("weights") = py::none(),
           py::kw_only(), py::arg("label") = "")
      .def_static(
          "supports_data_type",
          [](DataType data_type, const DeviceLike& device) {
            return Loss::supports_data_type(data_type, to_device(device));
          },
          py::arg("data_type"), py::arg("device"),
          "May a source of a loss have this type on this device?")
      .def_property_readonly("descriptor", &Loss::descriptor)
      .def_property_readonly("weights", [](const Loss& self) {
        return self.weights() ? std::optional(self.weights()) : std::nullopt;
      });
  using D = Descriptor;
  const auto label_smoothing = [] { return py::arg("label_smoothing"); };
  const auto class_count = [] { return whole("class_count"); };
  LossOf<losses::MeanAbsoluteError>::bind(m, "MeanAbsoluteError", "|y - t|");
  LossOf<losses::MeanSquaredError>::bind(m, "MeanSquaredError", "(y - t)^2");
  LossOf<losses::SoftmaxCrossEntropy, &D::label_smoothing,
         &D::class_count>::bind(m, "SoftmaxCrossEntropy",
                                "-sum_c t ln softmax(y), over axis 1.",
                                label_smoothing() = 0.0, class_count() = 1);
  LossOf<losses::SigmoidCrossEntropy, &D::label_smoothing>::bind(
      m, "SigmoidCrossEntropy", "max(y, 0) - y t + ln(1 + exp(-|y|))",
      label_smoothing() = 0.0);
  LossOf<losses::CategoricalCrossEntropy, &D::label_smoothing,
         &D::class_count>::bind(m, "CategoricalCrossEntropy",
                                "-sum_c t ln y, over axis 1.",
                                label_smoothing() = 0.0, class_count() = 1);
  LossOf<losses::Hinge>::bind(m, "Hinge", "max(0, 1 - (2 t - 1) y)");
  LossOf<losses::Huber, &D::delta>::bind(
      m, "Huber", "e = y - t: e^2 / 2, or delta (|e| - delta / 2) beyond delta",
      py::arg("delta") = 1.0);
  LossOf<losses::CosineDistance>::bind(
      m, "CosineDistance", "1 - sum(y t) per sample; give unit vectors.");
  LossOf<losses::Log, &D::epsilon>::bind(
      m, "Log", "-t ln(y + epsilon) - (1 - t) ln(1 - y + epsilon)",
      py::arg("epsilon") = 1e-7);
}

}  // namespace traingraph::python
