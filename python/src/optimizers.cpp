// SPDX-License-Identifier: MIT
// Optimizers: by descriptor, or with the descriptor's fields as keywords.
#include "traingraph/optimizers.h"

#include "rows.h"

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

/// Calls def(the rows of a descriptor but for the learning rate).
template <class Def>
void with_optimizer_rows(Def def) {
  def(row("gradient_rescale", &OptimizerDescriptor::gradient_rescale),
      row("applies_gradient_clipping", &Clipping::applies),
      row("gradient_clipping_type", &Clipping::type),
      row("gradient_clip_max", &Clipping::max),
      row("gradient_clip_min", &Clipping::min),
      row("maximum_clipping_norm", &Clipping::maximum_norm),
      row("custom_global_norm", &Clipping::custom_norm),
      row("regularization_type", &OptimizerDescriptor::regularization_type),
      row("regularization_scale", &OptimizerDescriptor::regularization_scale));
}

OptimizerDescriptor clipped(OptimizerDescriptor descriptor,
                            const Clipping& clipping) {
  clipping.set(descriptor);
  return descriptor;
}

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
  with_optimizer_rows([&](const auto&... rows) {
    def_init<OptimizerDescriptor, Clipping>(
        type, "OptimizerDescriptor", &clipped,
        row("learning_rate", &OptimizerDescriptor::learning_rate), rows...);
  });
  type.def_readonly("learning_rate", &OptimizerDescriptor::learning_rate)
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
      m, "Optimizer", "Hyperparameters and the update rule they become.");
  optimizer.def_property_readonly("descriptor", &Optimizer::descriptor)
      .def_property("learning_rate", &Optimizer::learning_rate,
                    &Optimizer::set_learning_rate,
                    "The rate of the next update that is enqueued. Setting it "
                    "raises StateError while there is a schedule.")
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

/// `items` are the arguments behind the descriptor or the rate.
template <class Class, class Base, class Rate, class... Items>
BoundClass<Class, Base, std::shared_ptr<Class>> bind(py::module_& m,
                                                     const char* name,
                                                     const char* doc,
                                                     const Rate& rate,
                                                     const Items&... items) {
  BoundClass<Class, Base, std::shared_ptr<Class>> type(m, name, doc);
  def_init(
      type, name,
      [](const auto&... all) { return std::make_shared<Class>(all...); },
      plain<OptimizerDescriptor>("descriptor"), items...);
  const auto make = [](const auto&... all) {
    const auto held = std::tie(all...);
    constexpr std::size_t kCount = sizeof...(Items);
    return [&]<std::size_t... i>(std::index_sequence<i...>) {
      return std::make_shared<Class>(
          clipped(std::get<kCount>(held), std::get<kCount + 1>(held)),
          std::get<i>(held)...);
    }(std::make_index_sequence<kCount>());
  };
  with_optimizer_rows([&](const auto&... rows) {
    def_init<OptimizerDescriptor, Clipping>(type, name, make, rate, items...,
                                            py::kw_only(), rows...);
  });
  return type;
}

template <class Class, class Base>
auto bind_adam(py::module_& m, const char* name, const char* doc) {
  return bind<Class, Base>(
      m, name, doc, row("learning_rate", &OptimizerDescriptor::learning_rate),
      plain("beta1", 0.9f), plain("beta2", 0.999f), plain("epsilon", 1e-8f),
      plain("uses_amsgrad", false), plain<std::uint64_t>("time_step", 1));
}

}  // namespace

void bind_optimizers(py::module_& m) {
  using namespace optimizers;
  bind_optimizer_descriptor(m);
  bind_optimizer(m);
  const auto rate =
      required("learning_rate", &OptimizerDescriptor::learning_rate);
  bind<SGD, Optimizer>(m, "SGD", "p -= lr g, with momentum or Nesterov's.",
                       rate, plain("momentum_scale", 0.0f),
                       plain("uses_nesterov_momentum", false))
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
  bind<RMSProp, Optimizer>(
      m, "RMSProp", "p -= lr g / (sqrt(n) + epsilon), n a running mean of g^2.",
      rate, plain("momentum_scale", 0.0f), plain("alpha", 0.99f),
      plain("epsilon", 1e-8f), plain("is_centered", false))
      .def_property_readonly("momentum_scale", &RMSProp::momentum_scale)
      .def_property_readonly("alpha", &RMSProp::alpha)
      .def_property_readonly("epsilon", &RMSProp::epsilon)
      .def_property_readonly("is_centered", &RMSProp::is_centered);
}

}  // namespace traingraph::python
