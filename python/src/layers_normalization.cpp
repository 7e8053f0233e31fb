// SPDX-License-Identifier: MIT
// Batch, instance, group and layer normalization.
#include "layers.h"
#include "rows.h"
#include "traingraph/layers.h"

namespace traingraph::python {
namespace {

using Base = layers::NormalizationLayer;

constexpr const char* kNormalizationDoc = R"pbdoc(
    The base of the normalizations.

    They compute ``gamma * (x - mean) / sqrt(variance + variance_epsilon) + beta``; each
    class says what mean and biased variance are of.
)pbdoc";

constexpr const char* kBatchNormalizationDoc = R"pbdoc(
    Normalizes each channel over the batch.

    (N, C, ...) -> the same shape, with axis 1 the channels::

        y = gamma * (x - mean) / sqrt(variance + variance_epsilon) + beta

    Training takes mean and biased variance of each channel over all other axes of the
    batch, and moves the running ones, which inference takes::

        running = momentum * running + (1 - momentum) * batch

    where the variance of the batch is the unbiased one. Note that PyTorch's momentum
    is one minus this one.

    Tensors are (C) or (1, C, 1, 1). Without any, mean 0, variance 1, beta 0 and gamma
    1 are created. With some, a missing mean or variance is created, and beta and gamma
    are those given or none.

    Raises:
        InvalidArgument: for an epsilon that is not above 0, and a momentum outside of
            [0, 1].
        ShapeError: for tensors of another size.
        DTypeError: for tensors that are not float32.

    Example:
        >>> g, image = tg.Graph(), tg.Tensor((64, 3, 32, 32), name="image")
        >>> norm = tg.layers.BatchNormalization(name="norm")
        >>> g.sequence(image, tg.layers.Convolution(16, 3), norm).shape
        (64, 16, 32, 32)
        >>> norm.gamma.name, norm.gamma.shape
        ('norm.gamma', (16,))
)pbdoc";

constexpr const char* kInstanceNormalizationDoc = R"pbdoc(
    Normalizes each channel of each sample.

    (N, C, ...) -> the same shape, with axis 1 the channels::

        y = gamma * (x - mean) / sqrt(variance + variance_epsilon) + beta

    Mean and biased variance are over all axes behind the channels. With a mean and a
    variance, which are then running ones, training moves them, and inference takes
    them::

        running = momentum * running + (1 - momentum) * mean over the samples

    of unbiased variances. Without them inference does what training does.

    Tensors are (C) or (1, C, 1, 1). Without any, beta 0 and gamma 1 are created unless
    uses_parameters is False. With some, there are no others, but for a mean of 0 or a
    variance of 1 that is missing beside the other one.

    Raises:
        InvalidArgument: for an epsilon that is not above 0, and a momentum outside of
            [0, 1].
        ShapeError: for tensors of another size.
        DTypeError: for tensors that are not float32.

    Example:
        >>> g, image = tg.Graph(), tg.Tensor((8, 16, 32, 32))
        >>> norm = tg.layers.InstanceNormalization()
        >>> g.node(norm, image).shape
        (8, 16, 32, 32)
        >>> norm.beta.shape, norm.mean
        ((16,), None)
)pbdoc";

constexpr const char* kGroupNormalizationDoc = R"pbdoc(
    Normalizes groups of channels of each sample.

    (N, C, ...) -> the same shape, with axis 1 the channels::

        y = gamma * (x - mean) / sqrt(variance + variance_epsilon) + beta

    Mean and biased variance are over the channels of a group, which lie side by side,
    and all axes behind. beta and gamma, one for each channel, are (C) or (1, C, 1, 1).
    Without any, beta 0 and gamma 1 are created unless uses_parameters is False; with
    one, there is no other.

    Raises:
        InvalidArgument: for an epsilon that is not above 0, and a group_count that does
            not divide the channels.
        ShapeError: for tensors of another size.
        DTypeError: for tensors that are not float32.

    Example:
        >>> g, image = tg.Graph(), tg.Tensor((8, 16, 32, 32))
        >>> norm = tg.layers.GroupNormalization(4)
        >>> g.node(norm, image).shape
        (8, 16, 32, 32)
        >>> norm.feature_channel_count
        16
)pbdoc";

constexpr const char* kLayerNormalizationDoc = R"pbdoc(
    Normalizes each sample over its last axes, or over others.

    Any shape -> the same shape::

        y = gamma * (x - mean) / sqrt(variance + variance_epsilon) + beta

    Mean and biased variance are over the axes that normalized_shape has sizes of; all
    other axes are samples. beta and gamma have one element for each element of
    normalized_shape, and that shape, with or without sizes of 1 before it up to four
    axes, or one axis. Without any, beta 0 and gamma 1 are created unless
    uses_parameters is False; with one, there is no other.

    Raises:
        InvalidArgument: for an epsilon that is not above 0, and for axes that are not
            those of normalized_shape.
        ShapeError: for sizes that the source, beta or gamma does not have.
        DTypeError: for tensors that are not float32.

    Example:
        >>> g, words = tg.Graph(), tg.Tensor((8, 128, 64))  # (batch, time, features)
        >>> norm = tg.layers.LayerNormalization()
        >>> g.node(norm, words).shape, norm.gamma.shape
        ((8, 128, 64), (64,))
        >>> tg.layers.LayerNormalization((128, 64)).gamma.shape
        (128, 64)
)pbdoc";

constexpr const char* kChannelsDoc =
    "The number of channels; None: the source's, and the first node creates "
    "the "
    "parameters.";
constexpr const char* kBetaDoc =
    "What is added, an array or a tensor; trained.";
constexpr const char* kGammaDoc = "The factors, an array or a tensor; trained.";
constexpr const char* kVarianceEpsilonDoc =
    "Is added to the variance, above 0.";
constexpr const char* kRunningMeanDoc =
    "The running mean, an array or a tensor; training moves it.";
constexpr const char* kRunningVarianceDoc =
    "The running variance, an array or a tensor; training moves it.";
constexpr const char* kMomentumDoc =
    "How much of the running statistics each training step keeps, in [0, 1].";
constexpr const char* kUsesParametersDoc =
    "Are beta and gamma created where neither is given?";

/// `items` are what the layer takes before its options, and their rows.
template <class Class, class Options, class... Items>
BoundClass<Class, Base, std::shared_ptr<Class>> bind(py::module_& m,
                                                     const char* name,
                                                     const char* doc,
                                                     const Items&... items) {
  BoundClass<Class, Base, std::shared_ptr<Class>> type(m, name, doc);
  def_layer<Options>(type, name, items...);
  return type;
}

/// Binds the same, with sizes by a name; None: those of the source.
template <class Class, class Options, class Size, class... Items>
BoundClass<Class, Base, std::shared_ptr<Class>> bind_sized(
    py::module_& m, const char* name, const char* doc, const char* size_name,
    const char* size_doc, const Items&... items) {
  BoundClass<Class, Base, std::shared_ptr<Class>> type(m, name, doc);
  const auto build = [](const std::string& own_name,
                        const std::optional<Size>& size,
                        const Options& options) {
    return size ? make_layer<Class>(own_name, *size, options)
                : make_layer<Class>(own_name, options);
  };
  def_named<Options>(
      type, name, build,
      plain<std::optional<Size>>(size_name, std::nullopt, size_doc), items...);
  return type;
}

void bind_normalization(py::module_& m) {
  BoundClass<Base, Layer, std::shared_ptr<Base>>(m, "NormalizationLayer",
                                                 kNormalizationDoc)
      .def_property_readonly("beta", or_none(&Base::beta),
                             "What is added; None: nothing.")
      .def_property_readonly("gamma", or_none(&Base::gamma),
                             "The factors; None: 1.")
      .def_property_readonly("beta_parameter", or_none(&Base::beta_parameter),
                             "beta with its state in training.")
      .def_property_readonly("gamma_parameter", or_none(&Base::gamma_parameter),
                             "gamma with its state in training.")
      .def_property_readonly("variance_epsilon", &Base::variance_epsilon,
                             kVarianceEpsilonDoc);
}

void bind_batch(py::module_& m) {
  using Class = layers::BatchNormalization;
  using Options = BatchNormalizationOptions;
  bind_sized<Class, Options, std::int64_t>(
      m, "BatchNormalization", kBatchNormalizationDoc, "feature_channel_count",
      kChannelsDoc, row("mean", &Options::mean, kRunningMeanDoc),
      row("variance", &Options::variance, kRunningVarianceDoc),
      row("beta", &Options::beta, kBetaDoc),
      row("gamma", &Options::gamma, kGammaDoc),
      row("variance_epsilon", &Options::variance_epsilon, kVarianceEpsilonDoc),
      row("momentum", &Options::momentum, kMomentumDoc), py::kw_only())
      .def_property_readonly("feature_channel_count",
                             &Class::feature_channel_count)
      .def_property_readonly("mean", copied(&Class::mean))
      .def_property_readonly("variance", copied(&Class::variance))
      .def_property_readonly("momentum", &Class::momentum);
}

void bind_instance(py::module_& m) {
  using Class = layers::InstanceNormalization;
  using Options = InstanceNormalizationOptions;
  bind_sized<Class, Options, std::int64_t>(
      m, "InstanceNormalization", kInstanceNormalizationDoc,
      "feature_channel_count", kChannelsDoc,
      row("beta", &Options::beta, kBetaDoc),
      row("gamma", &Options::gamma, kGammaDoc),
      row("variance_epsilon", &Options::variance_epsilon, kVarianceEpsilonDoc),
      row("momentum", &Options::momentum, kMomentumDoc), py::kw_only(),
      row("mean", &Options::mean, kRunningMeanDoc),
      row("variance", &Options::variance, kRunningVarianceDoc),
      row("uses_parameters", &Options::uses_parameters, kUsesParametersDoc))
      .def_property_readonly("feature_channel_count",
                             &Class::feature_channel_count)
      .def_property_readonly("mean", or_none(&Class::mean))
      .def_property_readonly("variance", or_none(&Class::variance))
      .def_property_readonly("momentum", &Class::momentum);
}

void bind_group(py::module_& m) {
  using Class = layers::GroupNormalization;
  using Options = GroupNormalizationOptions;
  auto type = bind<Class, Options>(
      m, "GroupNormalization", kGroupNormalizationDoc,
      plain<std::int64_t>("feature_channel_count", kChannelsDoc),
      plain<std::int64_t>(
          "group_count",
          "How many groups the channels make up; divides their number."),
      row("beta", &Options::beta, kBetaDoc),
      row("gamma", &Options::gamma, kGammaDoc),
      row("variance_epsilon", &Options::variance_epsilon, kVarianceEpsilonDoc),
      py::kw_only(),
      row("uses_parameters", &Options::uses_parameters, kUsesParametersDoc));
  def_layer<Options>(type, "GroupNormalization",
                     plain<std::int64_t>("group_count"), py::kw_only(),
                     row("beta", &Options::beta), row("gamma", &Options::gamma),
                     row("variance_epsilon", &Options::variance_epsilon),
                     row("uses_parameters", &Options::uses_parameters));
  type.def_property_readonly("feature_channel_count",
                             &Class::feature_channel_count)
      .def_property_readonly("group_count", &Class::group_count);
}

void bind_layer_normalization(py::module_& m) {
  using Class = layers::LayerNormalization;
  using Options = LayerNormalizationOptions;
  bind_sized<Class, Options, Shape>(
      m, "LayerNormalization", kLayerNormalizationDoc, "normalized_shape",
      "Sizes of the axes that are normalized over; None: the source's sizes on "
      "`axes`, or on its last axis, and the first node creates the parameters.",
      row("beta", &Options::beta, kBetaDoc),
      row("gamma", &Options::gamma, kGammaDoc),
      row("variance_epsilon", &Options::variance_epsilon, kVarianceEpsilonDoc),
      py::kw_only(),
      row("axes", &Options::axes,
          "The axes with the sizes of normalized_shape, negative ones from the "
          "end; (): the last ones. Others cost a transposition before and "
          "after."),
      row("uses_parameters", &Options::uses_parameters, kUsesParametersDoc))
      .def_property_readonly("normalized_shape", &Class::normalized_shape)
      .def_property_readonly("axes", &Class::axes);
}

}  // namespace

void bind_normalization_layers(py::module_& m) {
  bind_normalization(m);
  bind_batch(m);
  bind_instance(m);
  bind_group(m);
  bind_layer_normalization(m);
}

}  // namespace traingraph::python
