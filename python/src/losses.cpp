// SPDX-License-Identifier: MIT
// Losses: each type takes the descriptor's fields that it uses, and no others.
#include "traingraph/losses.h"

#include "device.h"
#include "loss_docs.h"
#include "rows.h"

namespace traingraph::python {
namespace {

using losses::Loss;

constexpr const char* kLossDescriptorDoc = R"pbdoc(
    A loss and its options, as ML Compute has them.

    A loss reads the options that it has, and all are checked.

    Raises:
        InvalidArgument: for options out of range.
)pbdoc";

constexpr const char* kLossDoc = R"pbdoc(
    A loss of any type, and the base of all losses.

    A layer with the sources prediction, labels and, if wanted, weights. Labels have the
    prediction's shape, give or take axes of size 1 behind the first; the class of each
    type says more. Its gradient, to the prediction alone, is the exact derivative of
    what is reported, with the reduction.

    Raises:
        InvalidArgument: for options out of range.
        ShapeError: from node() and compile(), for labels or weights that do not fit.

    Example:
        >>> options = tg.losses.LossDescriptor("huber", delta=0.5)
        >>> tg.losses.Loss(options).descriptor.delta
        0.5
)pbdoc";

constexpr const char* kLossSupportsDataTypeDoc = R"pbdoc(
    May a source of a loss have this type on this device?

    Args:
        data_type: The type of the source, such as "float16" or numpy.int32.
        device: The device, or its name.

    Returns:
        True, if it may.

    Example:
        >>> tg.losses.Huber.supports_data_type("float32", "cpu")
        True
)pbdoc";

constexpr const char* kLossValueDoc = R"pbdoc(
    A loss of one's own: the elements of its source, a result of other nodes.

    Its source has any shape, its elements may be negative. Of what has been reduced over
    the batch already, reduction_type says how: "mean" also where the number has nothing
    to do with the batch. "mean" divides by the number of elements. It takes no labels
    and no weights.

    Raises:
        InvalidArgument: for options out of range.

    Example:
        >>> x, g = tg.Tensor((64, 16), name="x"), tg.Graph()
        >>> code = g.sequence(x, tg.layers.FullyConnected(4))
        >>> far = g.node(tg.losses.Value(weight=0.1, name="far"), code * code)
        >>> t = tg.TrainingGraph([g], optimizer=tg.optimizers.Adam(1e-3))
        >>> t.add_inputs({"x": x})
        >>> t.compile("cpu")
        >>> data = np.ones((64, 16), np.float32)
        >>> list(t.execute({"x": data}).result().losses)
        ['far']
)pbdoc";

constexpr const char* kLossReductionDoc =
    "\"mean\", \"sum\" or \"none\", over the batch too. \"none\" leaves the "
    "losses as they are, and what is minimized is their sum.";
constexpr const char* kLossWeightDoc = "A factor of the loss.";
constexpr const char* kLossWeightsDoc =
    "Factors of the losses before they are reduced, an array or a tensor that "
    "broadcasts to them; None: 1.";
constexpr const char* kLossClassWeightsDoc =
    "Factors of the classes, an array or a tensor with one for each; None: 1.";
constexpr const char* kLossSmoothingDoc =
    "How much of each label is shared out to all classes, in [0, 1].";
constexpr const char* kLossClassCountDoc =
    "The number of classes that smoothing shares out to; 1: the size of axis "
    "1.";
constexpr const char* kLossIgnoreDoc =
    "A label that is none, where labels are indices: there is no loss and no "
    "gradient.";
constexpr const char* kLossEpsilonDoc =
    "Is added to what logarithms are taken of, not below 0.";
constexpr const char* kLossDeltaDoc = "Where distances begin, above 0.";

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
void bind_loss(py::module_& m, const char* name, const Fields&... fields) {
  constexpr bool kIsOfClasses =
      std::is_constructible_v<Class, const LossDescriptor&, Tensor, Tensor>;
  BoundClass<Class, Loss, std::shared_ptr<Class>> type(
      m, name, loss_documentation(name).c_str());
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
        plain<LossDescriptor>(
            "descriptor",
            "A LossDescriptor, in place of reduction, weight and options."),
        py::kw_only(), weights...);
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
        row("reduction_type", &LossDescriptor::reduction_type,
            kLossReductionDoc),
        py::kw_only(), fields...,
        row("weight", &LossDescriptor::weight, kLossWeightDoc), weights...);
  };
  if constexpr (kIsOfClasses) {
    def(row("weights", &Weights::weights, kLossWeightsDoc),
        row("class_weights", &Weights::class_weights, kLossClassWeightsDoc));
  } else {
    def(row("weights", &Weights::weights, kLossWeightsDoc));
  }
}

}  // namespace

void bind_losses(py::module_& m) {
  bind_descriptor<LossDescriptor>(
      m, "LossDescriptor", kLossDescriptorDoc,
      required("loss_type", &LossDescriptor::loss_type,
               "Which loss it is, such as \"huber\"."),
      row("reduction_type", &LossDescriptor::reduction_type, kLossReductionDoc),
      row("weight", &LossDescriptor::weight, kLossWeightDoc),
      row("label_smoothing", &LossDescriptor::label_smoothing,
          kLossSmoothingDoc),
      row("class_count", &LossDescriptor::class_count, kLossClassCountDoc),
      row("epsilon", &LossDescriptor::epsilon, kLossEpsilonDoc),
      row("delta", &LossDescriptor::delta, kLossDeltaDoc),
      row("ignore_index", &LossDescriptor::ignore_index, kLossIgnoreDoc));
  BoundClass<Loss, Layer, std::shared_ptr<Loss>> type(m, "Loss", kLossDoc);
  def_named<Weights>(
      type, "Loss",
      [](const std::string& name, const LossDescriptor& descriptor,
         const Weights& given) {
        return make_layer<Loss>(name, descriptor, given.weights,
                                given.class_weights);
      },
      plain<LossDescriptor>("descriptor",
                            "A LossDescriptor: the type and its options."),
      row("weights", &Weights::weights, kLossWeightsDoc), py::kw_only(),
      row("class_weights", &Weights::class_weights, kLossClassWeightsDoc));
  type.def_static(
          "supports_data_type",
          [](DataType data_type, const DeviceLike& device) {
            return Loss::supports_data_type(data_type, to_device(device));
          },
          py::arg("data_type"), py::arg("device"), kLossSupportsDataTypeDoc)
      .def_property_readonly("descriptor", &Loss::descriptor,
                             "The type and its options.")
      .def_property_readonly("weights", or_none(&Loss::weights),
                             "Factors of the losses, or None.")
      .def_property_readonly("class_weights", or_none(&Loss::class_weights),
                             "Factors of the classes, or None.");
  bind_loss<losses::MeanAbsoluteError>(m, "MeanAbsoluteError");
  bind_loss<losses::MeanSquaredError>(m, "MeanSquaredError");
  bind_loss<losses::SoftmaxCrossEntropy>(
      m, "SoftmaxCrossEntropy",
      row("label_smoothing", &LossDescriptor::label_smoothing,
          kLossSmoothingDoc),
      row("class_count", &LossDescriptor::class_count, kLossClassCountDoc),
      row("ignore_index", &LossDescriptor::ignore_index, kLossIgnoreDoc));
  bind_loss<losses::SigmoidCrossEntropy>(
      m, "SigmoidCrossEntropy",
      row("label_smoothing", &LossDescriptor::label_smoothing,
          kLossSmoothingDoc));
  bind_loss<losses::CategoricalCrossEntropy>(
      m, "CategoricalCrossEntropy",
      row("label_smoothing", &LossDescriptor::label_smoothing,
          kLossSmoothingDoc),
      row("class_count", &LossDescriptor::class_count, kLossClassCountDoc),
      row("ignore_index", &LossDescriptor::ignore_index, kLossIgnoreDoc));
  bind_loss<losses::Hinge>(m, "Hinge");
  bind_loss<losses::Huber>(m, "Huber",
                           row("delta", &LossDescriptor::delta, kLossDeltaDoc));
  bind_loss<losses::CosineDistance>(m, "CosineDistance");
  bind_loss<losses::Log>(
      m, "Log", row("epsilon", &LossDescriptor::epsilon, kLossEpsilonDoc));
  bind_loss<losses::KullbackLeiblerDivergence>(m, "KullbackLeiblerDivergence");
  BoundClass<losses::Value, Loss, std::shared_ptr<losses::Value>> value(
      m, "Value", kLossValueDoc);
  def_layer<LossDescriptor>(
      value, "Value",
      row("reduction_type", &LossDescriptor::reduction_type, kLossReductionDoc),
      py::kw_only(), row("weight", &LossDescriptor::weight, kLossWeightDoc));
  bind_ctc_loss(m);
  bind_yolo_loss(m);
}

}  // namespace traingraph::python
