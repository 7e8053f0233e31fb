// SPDX-License-Identifier: MIT
// Batch, instance, group and layer normalization.
#include "layers.h"
#include "rows.h"
#include "traingraph/layers.h"

namespace traingraph::python {
namespace {

using Base = layers::NormalizationLayer;

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
    const Items&... items) {
  BoundClass<Class, Base, std::shared_ptr<Class>> type(m, name, doc);
  const auto build = [](const std::string& own_name,
                        const std::optional<Size>& size,
                        const Options& options) {
    return size ? make_layer<Class>(own_name, *size, options)
                : make_layer<Class>(own_name, options);
  };
  def_named<Options>(type, name, build,
                     plain<std::optional<Size>>(size_name, std::nullopt),
                     items...);
  return type;
}

void bind_normalization(py::module_& m) {
  BoundClass<Base, Layer, std::shared_ptr<Base>>(
      m, "NormalizationLayer",
      "gamma (x - mean) / sqrt(variance + epsilon) + beta, where each class "
      "says what mean and biased variance are of.")
      .def_property_readonly("beta", or_none(&Base::beta))
      .def_property_readonly("gamma", or_none(&Base::gamma))
      .def_property_readonly("beta_parameter", or_none(&Base::beta_parameter))
      .def_property_readonly("gamma_parameter", or_none(&Base::gamma_parameter))
      .def_property_readonly("variance_epsilon", &Base::variance_epsilon);
}

void bind_batch(py::module_& m) {
  using Class = layers::BatchNormalization;
  using Options = BatchNormalizationOptions;
  bind_sized<Class, Options, std::int64_t>(
      m, "BatchNormalization",
      "gamma (x - mean) / sqrt(variance + epsilon) + beta per channel (axis "
      "1).\n\nTensors are (C) or (1, C, 1, 1). None given: all are created. "
      "Some given: mean and variance are created when missing, beta and gamma "
      "are left out. feature_channel_count None: that of the source; the first "
      "node makes the tensors. Raises InvalidArgument, ShapeError or "
      "DTypeError.",
      "feature_channel_count", row("mean", &Options::mean),
      row("variance", &Options::variance), row("beta", &Options::beta),
      row("gamma", &Options::gamma),
      row("variance_epsilon", &Options::variance_epsilon),
      row("momentum", &Options::momentum), py::kw_only())
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
      m, "InstanceNormalization",
      "Each channel (axis 1) of each sample has its own mean and variance, "
      "over all axes behind.\n\nTensors are (C) or (1, C, 1, 1). None given: "
      "beta and gamma are created, unless uses_parameters is false. Some "
      "given: there are no others, but for a missing mean or variance beside "
      "the other one.\n\nWith mean and variance training moves them: running "
      "= momentum * running + (1 - momentum) * the mean over the samples, of "
      "unbiased variances; inference uses them. Without, momentum has no "
      "effect. feature_channel_count None: that of the source; the first node "
      "makes the tensors. Raises InvalidArgument, ShapeError or DTypeError.",
      "feature_channel_count", row("beta", &Options::beta),
      row("gamma", &Options::gamma),
      row("variance_epsilon", &Options::variance_epsilon),
      row("momentum", &Options::momentum), py::kw_only(),
      row("mean", &Options::mean), row("variance", &Options::variance),
      row("uses_parameters", &Options::uses_parameters))
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
      m, "GroupNormalization",
      "Each of group_count equal parts of the channels (axis 1) of each sample "
      "has its own mean and variance, over its channels and all axes "
      "behind.\n\nbeta and gamma are (C) or (1, C, 1, 1). None given: both are "
      "created, unless uses_parameters is false. One given: there is no other. "
      "GroupNormalization(group_count) has the channels of its source: its "
      "first node makes the tensors. Raises InvalidArgument, ShapeError or "
      "DTypeError.",
      plain<std::int64_t>("feature_channel_count"),
      plain<std::int64_t>("group_count"), row("beta", &Options::beta),
      row("gamma", &Options::gamma),
      row("variance_epsilon", &Options::variance_epsilon), py::kw_only(),
      row("uses_parameters", &Options::uses_parameters));
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
      m, "LayerNormalization",
      "Mean and variance over the last axes, which have the sizes of "
      "normalized_shape, or over `axes` of these sizes; all other axes are "
      "samples.\n\nbeta and gamma have the normalized shape, with or without "
      "sizes of 1 before it up to four axes, or as many elements in one axis. "
      "None given: both are created, unless uses_parameters is false. One "
      "given: there is no other. Axes that are not the last ones cost a "
      "transposition before and after. normalized_shape None: the source's "
      "sizes on `axes`, or on its last axis; the first node makes the tensors. "
      "Raises InvalidArgument, ShapeError or "
      "DTypeError.",
      "normalized_shape", row("beta", &Options::beta),
      row("gamma", &Options::gamma),
      row("variance_epsilon", &Options::variance_epsilon), py::kw_only(),
      row("axes", &Options::axes),
      row("uses_parameters", &Options::uses_parameters))
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
