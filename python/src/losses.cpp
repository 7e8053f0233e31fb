// SPDX-License-Identifier: MIT
// Losses: each type takes the descriptor's fields that it uses, and no others.
#include "traingraph/losses.h"

#include "device.h"
#include "rows.h"

namespace traingraph::python {
namespace {

using losses::Loss;

struct Weights {
  Tensor weights, class_weights;
};

/// A loss of one type, of a descriptor that names the same.
template <class Class, class... Weights>
std::shared_ptr<Class> make_from(const std::string& name,
                                 const LossDescriptor& descriptor,
                                 const Weights&... weights) {
  auto loss = make_layer<Class>(name, descriptor, weights...);
  const LossType type = loss->descriptor().loss_type;
  if (type == descriptor.loss_type) return loss;
  throw InvalidArgument(
      ErrorInfo{.op = "Loss",
                .node = name,
                .what = "loss_type is another than that of the class",
                .expected = std::string(to_string(type)),
                .got = std::string(to_string(descriptor.loss_type)),
                .hint = "Use losses.Loss for any type."});
}

/// `fields` are those that a loss has beyond reduction, weight and weights.
template <class Class, class... Fields>
void bind_loss(py::module_& m, const char* name, const char* doc,
               const Fields&... fields) {
  constexpr bool kIsOfClasses =
      std::is_constructible_v<Class, const LossDescriptor&, Tensor, Tensor>;
  BoundClass<Class, Loss, std::shared_ptr<Class>> type(m, name, doc);
  const auto def = [&](const auto&... weights) {
    def_named<Weights>(
        type, name,
        [](const std::string& name, const LossDescriptor& descriptor,
           const Weights& given) {
          if constexpr (kIsOfClasses) {
            return make_from<Class>(name, descriptor, given.weights,
                                    given.class_weights);
          } else {
            return make_from<Class>(name, descriptor, given.weights);
          }
        },
        plain<LossDescriptor>("descriptor"), py::kw_only(), weights...);
    def_named<LossDescriptor, Weights>(
        type, name,
        [](const std::string& name, const LossDescriptor& options,
           const Weights& given) {
          if constexpr (kIsOfClasses) {
            return make_layer<Class>(name, options, given.weights,
                                     given.class_weights);
          } else {
            return make_layer<Class>(name, options, given.weights);
          }
        },
        row("reduction_type", &LossDescriptor::reduction_type), py::kw_only(),
        fields..., row("weight", &LossDescriptor::weight), weights...);
  };
  if constexpr (kIsOfClasses) {
    def(row("weights", &Weights::weights),
        row("class_weights", &Weights::class_weights));
  } else {
    def(row("weights", &Weights::weights));
  }
}

}  // namespace

void bind_losses(py::module_& m) {
  bind_descriptor<LossDescriptor>(
      m, "LossDescriptor",
      "A loss and its options; those that are not given have the loss's own "
      "defaults.",
      required("loss_type", &LossDescriptor::loss_type),
      row("reduction_type", &LossDescriptor::reduction_type),
      row("weight", &LossDescriptor::weight),
      row("label_smoothing", &LossDescriptor::label_smoothing),
      row("class_count", &LossDescriptor::class_count),
      row("epsilon", &LossDescriptor::epsilon),
      row("delta", &LossDescriptor::delta),
      row("ignore_index", &LossDescriptor::ignore_index));
  BoundClass<Loss, Layer, std::shared_ptr<Loss>> type(
      m, "Loss",
      "A layer with sources prediction, labels and optionally weights. Labels "
      "have the prediction's shape, give or take axes of size 1 behind the "
      "first; those of losses without classes and samples may broadcast to it; "
      "those of the class losses may be int32 or int64 indices of classes, "
      "(N, H, W) for (N, K, H, W). weight: one factor; weights: broadcast to "
      "the element losses; class_weights: one for each class.");
  def_named<Weights>(
      type, "Loss",
      [](const std::string& name, const LossDescriptor& descriptor,
         const Weights& given) {
        return make_layer<Loss>(name, descriptor, given.weights,
                                given.class_weights);
      },
      plain<LossDescriptor>("descriptor"), row("weights", &Weights::weights),
      py::kw_only(), row("class_weights", &Weights::class_weights));
  type.def_static(
          "supports_data_type",
          [](DataType data_type, const DeviceLike& device) {
            return Loss::supports_data_type(data_type, to_device(device));
          },
          py::arg("data_type"), py::arg("device"),
          "May a source of a loss have this type on this device?")
      .def_property_readonly("descriptor", &Loss::descriptor)
      .def_property_readonly("weights", or_none(&Loss::weights))
      .def_property_readonly("class_weights", or_none(&Loss::class_weights));
  bind_loss<losses::MeanAbsoluteError>(m, "MeanAbsoluteError", "|y - t|");
  bind_loss<losses::MeanSquaredError>(m, "MeanSquaredError", "(y - t)^2");
  bind_loss<losses::SoftmaxCrossEntropy>(
      m, "SoftmaxCrossEntropy",
      "-sum_c t ln softmax(y), over axis 1. Labels are shares of each class, "
      "or "
      "indices of classes; then ignore_index is no label at all, and the mean "
      "divides by the class weights of the others.",
      row("label_smoothing", &LossDescriptor::label_smoothing),
      row("class_count", &LossDescriptor::class_count),
      row("ignore_index", &LossDescriptor::ignore_index));
  bind_loss<losses::SigmoidCrossEntropy>(
      m, "SigmoidCrossEntropy", "max(y, 0) - y t + ln(1 + exp(-|y|))",
      row("label_smoothing", &LossDescriptor::label_smoothing));
  bind_loss<losses::CategoricalCrossEntropy>(
      m, "CategoricalCrossEntropy",
      "-sum_c t ln y, over axis 1; labels as those of SoftmaxCrossEntropy.",
      row("label_smoothing", &LossDescriptor::label_smoothing),
      row("class_count", &LossDescriptor::class_count),
      row("ignore_index", &LossDescriptor::ignore_index));
  bind_loss<losses::Hinge>(m, "Hinge", "max(0, 1 - (2 t - 1) y)");
  bind_loss<losses::Huber>(
      m, "Huber", "e = y - t: e^2 / 2, or delta (|e| - delta / 2) beyond delta",
      row("delta", &LossDescriptor::delta));
  bind_loss<losses::CosineDistance>(
      m, "CosineDistance", "1 - sum(y t) per sample; give unit vectors.");
  bind_loss<losses::Log>(
      m, "Log",
      "Binary cross-entropy: -t ln(y + epsilon) - (1 - t) ln(1 - y + epsilon)",
      row("epsilon", &LossDescriptor::epsilon));
  bind_loss<losses::KullbackLeiblerDivergence>(
      m, "KullbackLeiblerDivergence",
      "t (ln t - y), y the logarithm of a probability; 0 where t is 0");
  BoundClass<losses::Value, Loss, std::shared_ptr<losses::Value>> value(
      m, "Value",
      "A loss of one's own: the elements of its one source, a result of other "
      "nodes, are the losses, which may be negative. Of what has been reduced "
      "over the batch already, reduction_type says how: \"mean\" also where "
      "the "
      "number has nothing to do with the batch. Takes no labels and no "
      "weights; "
      "descriptor says nothing of the type.");
  def_layer<LossDescriptor>(
      value, "Value", row("reduction_type", &LossDescriptor::reduction_type),
      py::kw_only(), row("weight", &LossDescriptor::weight));
  bind_ctc_loss(m);
  bind_yolo_loss(m);
}

}  // namespace traingraph::python
