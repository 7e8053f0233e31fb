// SPDX-License-Identifier: MIT
// Optimizers: by descriptor, or with the descriptor's fields as keywords.
#include "traingraph/optimizers.h"

#include <pybind11/stl.h>

#include "bindings.h"
#include "casters.h"

namespace traingraph::python {
namespace {

void set_time_step(Optimizer& self, std::int64_t step) {
  if (step < 1) {
    throw InvalidArgument(ErrorInfo{.op = "time_step",
                                    .node = {},
                                    .what = "it is out of range",
                                    .expected = "1 or more",
                                    .got = std::to_string(step),
                                    .hint = {}});
  }
  self.set_time_step(static_cast<std::uint64_t>(step));
}

/// What is given of clipping, by any value, switches it on.
struct Clipping {
  std::optional<bool> applies;
  std::optional<GradientClippingType> type;
  std::optional<float> max, min, maximum_norm, custom_norm;

  void set(OptimizerDescriptor& descriptor) const {
    const bool is_given = type || max || min || maximum_norm || custom_norm;
    descriptor.applies_gradient_clipping = applies.value_or(is_given);
    const auto take = [](auto& field, const auto& value) {
      if (value) field = *value;
    };
    take(descriptor.gradient_clipping_type, type);
    take(descriptor.gradient_clip_max, max);
    take(descriptor.gradient_clip_min, min);
    take(descriptor.maximum_clipping_norm, maximum_norm);
    take(descriptor.custom_global_norm, custom_norm);
  }
};

OptimizerDescriptor descriptor_of(float learning_rate, float gradient_rescale,
                                  const Clipping& clipping,
                                  RegularizationType regularization_type,
                                  float regularization_scale) {
  OptimizerDescriptor descriptor{.learning_rate = learning_rate,
                                 .gradient_rescale = gradient_rescale,
                                 .regularization_type = regularization_type,
                                 .regularization_scale = regularization_scale};
  clipping.set(descriptor);
  return descriptor;
}

// Parameters and arguments of a descriptor but for the learning rate.
#define TRAINGRAPH_DESCRIPTOR_PARAMETERS                                   \
  float gradient_rescale, std::optional<bool> applies_gradient_clipping,   \
      std::optional<GradientClippingType> clipping_type,                   \
      std::optional<float> clip_max, std::optional<float> clip_min,        \
      std::optional<float> maximum_norm, std::optional<float> custom_norm, \
      RegularizationType regularization_type, float regularization_scale
#define TRAINGRAPH_DESCRIPTOR_ARGUMENTS              \
  py::arg("gradient_rescale") = 1.0,                 \
  py::arg("applies_gradient_clipping") = py::none(), \
  py::arg("gradient_clipping_type") = py::none(),    \
  py::arg("gradient_clip_max") = py::none(),         \
  py::arg("gradient_clip_min") = py::none(),         \
  py::arg("maximum_clipping_norm") = py::none(),     \
  py::arg("custom_global_norm") = py::none(),        \
  py::arg("regularization_type") = "none",           \
  py::arg("regularization_scale") = 0.0
#define TRAINGRAPH_DESCRIPTOR                                                  \
  descriptor_of(learning_rate, gradient_rescale,                               \
                {applies_gradient_clipping, clipping_type, clip_max, clip_min, \
                 maximum_norm, custom_norm},                                   \
                regularization_type, regularization_scale)

void bind_optimizer_descriptor(py::module_& m) {
  BoundClass<OptimizerDescriptor> type(
      m, "OptimizerDescriptor",
      "A raw gradient, summed over the batch, is clipped when that is on, "
      "multiplied by gradient_rescale, and gets the derivative of the "
      "regularization added. Giving an option of clipping switches it on, "
      "unless applies_gradient_clipping=False. Without others it is by_value, "
      "between -1 and 1; norms are at most 1, and a custom_global_norm that is "
      "not 0 replaces the computed one.");
  bind_value(type);
  type.def(py::init([](float learning_rate, TRAINGRAPH_DESCRIPTOR_PARAMETERS) {
             return TRAINGRAPH_DESCRIPTOR;
           }),
           py::arg("learning_rate") = 1e-3, TRAINGRAPH_DESCRIPTOR_ARGUMENTS)
      .def_readonly("learning_rate", &OptimizerDescriptor::learning_rate)
      .def_readonly("gradient_rescale", &OptimizerDescriptor::gradient_rescale)
      .def_readonly("applies_gradient_clipping",
                    &OptimizerDescriptor::applies_gradient_clipping)
      .def_readonly("gradient_clipping_type",
                    &OptimizerDescriptor::gradient_clipping_type)
      .def_readonly("gradient_clip_max",
                    &OptimizerDescriptor::gradient_clip_max)
      .def_readonly("gradient_clip_min",
                    &OptimizerDescriptor::gradient_clip_min)
      .def_readonly("maximum_clipping_norm",
                    &OptimizerDescriptor::maximum_clipping_norm)
      .def_readonly("custom_global_norm",
                    &OptimizerDescriptor::custom_global_norm)
      .def_readonly("regularization_type",
                    &OptimizerDescriptor::regularization_type)
      .def_readonly("regularization_scale",
                    &OptimizerDescriptor::regularization_scale);
}

void bind_optimizer(py::module_& m) {
  BoundClass<Optimizer, std::shared_ptr<Optimizer>> optimizer(
      m, "Optimizer", "Hyper-parameters and the update rule they become.");
  optimizer.def_property_readonly("descriptor", &Optimizer::descriptor)
      .def_property("learning_rate", &Optimizer::learning_rate,
                    &Optimizer::set_learning_rate,
                    "Of the next update that is enqueued. Setting it raises "
                    "StateError while there is a schedule.")
      .def_property("schedule", &Optimizer::schedule, &Optimizer::set_schedule,
                    "The rate of the update with time step t is "
                    "schedule.rate(t - 1); None: learning_rate is what it was "
                    "set to, and can be set.")
      .def_property("applies_gradient_clipping",
                    &Optimizer::applies_gradient_clipping,
                    &Optimizer::set_applies_gradient_clipping,
                    "Takes effect at the next update that is enqueued.")
      .def_property("time_step", &Optimizer::time_step,
                    py::cpp_function(&set_time_step, py::is_method(optimizer),
                                     whole("value")),
                    "Number of the next update; starts at 1.")
      .def_property_readonly("name", &Optimizer::name)
      .def_property_readonly("slots", &Optimizer::slots,
                             "Names of the buffers of each parameter.")
      .def_property_readonly("corrected_rate", &Optimizer::corrected_rate,
                             "The rate corrected for the current time step.")
#define TRAINGRAPH_DELEGATE(field) \
  .def_property_readonly(          \
      #field, [](const Optimizer& self) { return self.descriptor().field; })
          TRAINGRAPH_DELEGATE(gradient_rescale)
              TRAINGRAPH_DELEGATE(gradient_clipping_type)
                  TRAINGRAPH_DELEGATE(gradient_clip_max)
                      TRAINGRAPH_DELEGATE(gradient_clip_min)
                          TRAINGRAPH_DELEGATE(maximum_clipping_norm)
                              TRAINGRAPH_DELEGATE(custom_global_norm)
                                  TRAINGRAPH_DELEGATE(regularization_type)
                                      TRAINGRAPH_DELEGATE(regularization_scale)
#undef TRAINGRAPH_DELEGATE
      .def("__eq__",
           [](const Optimizer& self, const py::object& other) {
             return py::isinstance<Optimizer>(other) &&
                    self == other.cast<const Optimizer&>();
           })
      .def("__copy__", [](const Optimizer& self) {
        return std::shared_ptr<Optimizer>(self.clone());
      });
  optimizer.attr("__hash__") = py::none();
}

/// `arguments` are those of the constructor after the descriptor or the rate.
template <class Class, class Base, class... Parameters>
struct OptimizerOf {
  using Type = BoundClass<Class, Base, std::shared_ptr<Class>>;

  template <class Rate, class... Extra>
  static Type bind(py::module_& m, const char* name, const char* doc,
                   const Rate& rate, const Extra&... arguments) {
    Type type(m, name, doc);
    type.def(py::init([](const OptimizerDescriptor& descriptor,
                         Parameters... values) {
               return std::make_shared<Class>(descriptor, values...);
             }),
             py::arg("descriptor"), arguments...)
        .def(py::init([](float learning_rate, Parameters... values,
                         TRAINGRAPH_DESCRIPTOR_PARAMETERS) {
               return std::make_shared<Class>(TRAINGRAPH_DESCRIPTOR, values...);
             }),
             rate, arguments..., py::kw_only(),
             TRAINGRAPH_DESCRIPTOR_ARGUMENTS);
    return type;
  }
};

template <class Class, class Base>
OptimizerOf<Class, Base, float, float, float, bool, std::uint64_t>::Type
bind_adam(py::module_& m, const char* name, const char* doc) {
  return OptimizerOf<Class, Base, float, float, float, bool,
                     std::uint64_t>::bind(m, name, doc,
                                          py::arg("learning_rate") = 1e-3,
                                          py::arg("beta1") = 0.9,
                                          py::arg("beta2") = 0.999,
                                          py::arg("epsilon") = 1e-8,
                                          py::arg("uses_amsgrad") = false,
                                          whole("time_step") = 1);
}

}  // namespace

void bind_optimizers(py::module_& m) {
  using namespace optimizers;
  bind_optimizer_descriptor(m);
  bind_optimizer(m);
  OptimizerOf<SGD, Optimizer, float, bool>::bind(
      m, "SGD", "p -= lr g, with momentum or Nesterov's.",
      py::arg("learning_rate"), py::arg("momentum_scale") = 0.0,
      py::arg("uses_nesterov_momentum") = false)
      .def_property_readonly("momentum_scale", &SGD::momentum_scale)
      .def_property_readonly("uses_nesterov_momentum",
                             &SGD::uses_nesterov_momentum);
  bind_adam<Adam, Optimizer>(m, "Adam",
                             "p -= lr sqrt(1-b2^t) / (1-b1^t) * m / (sqrt(v) "
                             "+ epsilon), or AMSGrad.")
      .def_property_readonly("beta1", &Adam::beta1)
      .def_property_readonly("beta2", &Adam::beta2)
      .def_property_readonly("epsilon", &Adam::epsilon)
      .def_property_readonly("uses_amsgrad", &Adam::uses_amsgrad);
  bind_adam<AdamW, Adam>(m, "AdamW",
                         "Adam with decoupled decay: p -= lr * "
                         "regularization_scale * p.");
  OptimizerOf<RMSProp, Optimizer, float, float, float, bool>::bind(
      m, "RMSProp", "p -= lr g / (sqrt(n) + epsilon), n a running mean of g^2.",
      py::arg("learning_rate"), py::arg("momentum_scale") = 0.0,
      py::arg("alpha") = 0.99, py::arg("epsilon") = 1e-8,
      py::arg("is_centered") = false)
      .def_property_readonly("momentum_scale", &RMSProp::momentum_scale)
      .def_property_readonly("alpha", &RMSProp::alpha)
      .def_property_readonly("epsilon", &RMSProp::epsilon)
      .def_property_readonly("is_centered", &RMSProp::is_centered);
}

}  // namespace traingraph::python
