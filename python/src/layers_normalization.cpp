// SPDX-License-Identifier: MIT
// Batch, instance, group and layer normalization.
#include "arrays.h"
#include "casters.h"
#include "layers.h"
#include "traingraph/layers.h"

namespace traingraph::python {
namespace {

using Base = layers::NormalizationLayer;
using Given = std::optional<TensorOrArray>;

template <class Class>
using BoundNormalization = BoundClass<Class, Base, std::shared_ptr<Class>>;

void bind_normalization(py::module_& m) {
  BoundClass<Base, Layer, std::shared_ptr<Base>>(
      m, "NormalizationLayer",
      "gamma (x - mean) / sqrt(variance + epsilon) + beta, where each class "
      "says what mean and biased variance are of.")
      .def_property_readonly(
          "beta", [](const Base& self) { return optional(self.beta()); })
      .def_property_readonly(
          "gamma", [](const Base& self) { return optional(self.gamma()); })
      .def_property_readonly(
          "beta_parameter",
          [](const Base& self) { return optional(self.beta_parameter()); })
      .def_property_readonly(
          "gamma_parameter",
          [](const Base& self) { return optional(self.gamma_parameter()); })
      .def_property_readonly("variance_epsilon", &Base::variance_epsilon);
}

void bind_batch(py::module_& m) {
  using Class = layers::BatchNormalization;
  BoundNormalization<Class>(
      m, "BatchNormalization",
      "gamma (x - mean) / sqrt(variance + epsilon) + beta per channel (axis "
      "1).\n\nTensors are (C) or (1, C, 1, 1). None given: all are created. "
      "Some given: mean and variance are created when missing, beta and gamma "
      "are left out.")
      .def(py::init([](std::int64_t channels, const Given& mean,
                       const Given& variance, const Given& beta,
                       const Given& gamma, float epsilon, float momentum,
                       const std::string& label) {
             return make_layer<Class>(
                 label, channels,
                 BatchNormalizationOptions{
                     .mean = to_tensor(mean, "mean"),
                     .variance = to_tensor(variance, "variance"),
                     .beta = to_tensor(beta, "beta"),
                     .gamma = to_tensor(gamma, "gamma"),
                     .variance_epsilon = epsilon,
                     .momentum = momentum});
           }),
           whole("feature_channel_count"), py::arg("mean") = py::none(),
           py::arg("variance") = py::none(), py::arg("beta") = py::none(),
           py::arg("gamma") = py::none(), py::arg("variance_epsilon") = 1e-5,
           py::arg("momentum") = 0.99, py::kw_only(), py::arg("label") = "")
      .def_property_readonly("feature_channel_count",
                             &Class::feature_channel_count)
      .def_property_readonly("mean",
                             [](const Class& self) { return self.mean(); })
      .def_property_readonly("variance",
                             [](const Class& self) { return self.variance(); })
      .def_property_readonly("momentum", &Class::momentum);
}

void bind_instance(py::module_& m) {
  using Class = layers::InstanceNormalization;
  BoundNormalization<Class>(
      m, "InstanceNormalization",
      "Each channel (axis 1) of each sample has its own mean and variance, "
      "over all axes behind.\n\nTensors are (C) or (1, C, 1, 1). None given: "
      "beta and gamma are created, unless uses_parameters is false. Some "
      "given: there are no others, but for a missing mean or variance beside "
      "the other one.\n\nWith mean and variance training moves them: running "
      "= momentum * running + (1 - momentum) * the mean over the samples, of "
      "unbiased variances; inference uses them. Without, momentum has no "
      "effect. Raises InvalidArgument, ShapeError or DTypeError.")
      .def(py::init([](std::int64_t channels, const Given& beta,
                       const Given& gamma, float epsilon, float momentum,
                       const Given& mean, const Given& variance,
                       bool uses_parameters, const std::string& label) {
             return make_layer<Class>(
                 label, channels,
                 InstanceNormalizationOptions{
                     .mean = to_tensor(mean, "mean"),
                     .variance = to_tensor(variance, "variance"),
                     .beta = to_tensor(beta, "beta"),
                     .gamma = to_tensor(gamma, "gamma"),
                     .variance_epsilon = epsilon,
                     .momentum = momentum,
                     .uses_parameters = uses_parameters});
           }),
           whole("feature_channel_count"), py::arg("beta") = py::none(),
           py::arg("gamma") = py::none(), py::arg("variance_epsilon") = 1e-5,
           py::arg("momentum") = 0.99, py::kw_only(),
           py::arg("mean") = py::none(), py::arg("variance") = py::none(),
           py::arg("uses_parameters") = true, py::arg("label") = "")
      .def_property_readonly("feature_channel_count",
                             &Class::feature_channel_count)
      .def_property_readonly(
          "mean", [](const Class& self) { return optional(self.mean()); })
      .def_property_readonly(
          "variance",
          [](const Class& self) { return optional(self.variance()); })
      .def_property_readonly("momentum", &Class::momentum);
}

void bind_group(py::module_& m) {
  using Class = layers::GroupNormalization;
  BoundNormalization<Class>(
      m, "GroupNormalization",
      "Each of group_count equal parts of the channels (axis 1) of each sample "
      "has its own mean and variance, over its channels and all axes "
      "behind.\n\nbeta and gamma are (C) or (1, C, 1, 1). None given: both are "
      "created, unless uses_parameters is false. One given: there is no other. "
      "Raises InvalidArgument, ShapeError or DTypeError.")
      .def(py::init([](std::int64_t channels, std::int64_t groups,
                       const Given& beta, const Given& gamma, float epsilon,
                       bool uses_parameters, const std::string& label) {
             return make_layer<Class>(
                 label, channels, groups,
                 GroupNormalizationOptions{.beta = to_tensor(beta, "beta"),
                                           .gamma = to_tensor(gamma, "gamma"),
                                           .variance_epsilon = epsilon,
                                           .uses_parameters = uses_parameters});
           }),
           whole("feature_channel_count"), whole("group_count"),
           py::arg("beta") = py::none(), py::arg("gamma") = py::none(),
           py::arg("variance_epsilon") = 1e-5, py::kw_only(),
           py::arg("uses_parameters") = true, py::arg("label") = "")
      .def_property_readonly("feature_channel_count",
                             &Class::feature_channel_count)
      .def_property_readonly("group_count", &Class::group_count);
}

void bind_layer_normalization(py::module_& m) {
  using Class = layers::LayerNormalization;
  BoundNormalization<Class>(
      m, "LayerNormalization",
      "Mean and variance over the last axes, which have the sizes of "
      "normalized_shape, or over `axes` of these sizes; all other axes are "
      "samples.\n\nbeta and gamma have the normalized shape, with or without "
      "sizes of 1 before it up to four axes, or as many elements in one axis. "
      "None given: both are created, unless uses_parameters is false. One "
      "given: there is no other. Axes that are not the last ones cost a "
      "transposition before and after. Raises InvalidArgument, ShapeError or "
      "DTypeError.")
      .def(py::init([](const Shape& shape, const Given& beta,
                       const Given& gamma, float epsilon, const Shape& axes,
                       bool uses_parameters, const std::string& label) {
             return make_layer<Class>(
                 label, shape,
                 LayerNormalizationOptions{.beta = to_tensor(beta, "beta"),
                                           .gamma = to_tensor(gamma, "gamma"),
                                           .variance_epsilon = epsilon,
                                           .uses_parameters = uses_parameters,
                                           .axes = axes});
           }),
           py::arg("normalized_shape"), py::arg("beta") = py::none(),
           py::arg("gamma") = py::none(), py::arg("variance_epsilon") = 1e-5,
           py::kw_only(), py::arg("axes") = py::tuple(),
           py::arg("uses_parameters") = true, py::arg("label") = "")
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
