// SPDX-License-Identifier: MIT
// Optimizers: by descriptor, or with the descriptor's fields as keywords.
#include "traingraph/optimizers.h"

#include "rows.h"

namespace traingraph::python {
namespace {

constexpr const char* kOptimizerDescriptorDoc = R"pbdoc(
    What all optimizers have: the rate, clipping and regularization.

    The gradient of a parameter p, summed over the batch as the loss says, becomes ::

        g = gradient_rescale * clip(gradient)
            + regularization_scale * (sign(p) for "l1", p for "l2")

    Giving an option of clipping switches it on, unless applies_gradient_clipping is
    False.

    Raises:
        InvalidArgument: for numbers out of range, and options of clipping or
            regularization that the chosen types do not use.
)pbdoc";

constexpr const char* kOptimizerDoc = R"pbdoc(
    Base of the optimizers: hyperparameters, and the update rule they become.

    An optimizer belongs to the training graphs it is given to; copy.copy() makes one of
    its own. Equal ones have the same rule and hyperparameters, at the same time step.
)pbdoc";

constexpr const char* kSGDDoc = R"pbdoc(
    Stochastic gradient descent, with momentum if wanted.

    With the rate lr and the momentum mu each update computes ::

        p = p - lr * g                                   without momentum
        m = mu * m + lr * g;  p = p - m                  with momentum
        m = mu * m + g;  p = p - lr * (g + mu * m)       Nesterov's

    g is the gradient after clipping, gradient_rescale and regularization; see
    OptimizerDescriptor. m starts as zeros.

    Raises:
        InvalidArgument: for numbers out of range, and options of clipping or
            regularization that the chosen types do not use.

    Example:
        >>> x, y = tg.Tensor((64, 16), name="x"), tg.Tensor((64, 1), name="y")
        >>> g = tg.Graph()
        >>> out = g.node(tg.layers.FullyConnected(1), x)
        >>> optimizer = tg.optimizers.SGD(0.1, momentum_scale=0.9)
        >>> t = tg.TrainingGraph([g], tg.losses.MeanSquaredError(), optimizer)
        >>> t.add_inputs({"x": x}, {"y": y})
        >>> t.compile("cpu")
)pbdoc";

constexpr const char* kAdamDoc = R"pbdoc(
    Adam: steps by running means of the gradient and of its square.

    With the rate lr and the time step t, from 1, each update computes ::

        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g^2
        p = p - lr * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + epsilon)

    and with uses_amsgrad the largest v so far is in place of v.
    g is the gradient after clipping, gradient_rescale and regularization; see
    OptimizerDescriptor. m and v start as zeros.

    Raises:
        InvalidArgument: for numbers out of range, and options of clipping or
            regularization that the chosen types do not use.

    Example:
        >>> x, y = tg.Tensor((64, 16), name="x"), tg.Tensor((64, 1), name="y")
        >>> g = tg.Graph()
        >>> out = g.node(tg.layers.FullyConnected(1), x)
        >>> optimizer = tg.optimizers.Adam(1e-3, gradient_clip_max=1)
        >>> t = tg.TrainingGraph([g], tg.losses.MeanSquaredError(), optimizer)
        >>> t.add_inputs({"x": x}, {"y": y})
        >>> t.compile("cpu")
)pbdoc";

constexpr const char* kAdamWDoc = R"pbdoc(
    Adam with decoupled weight decay.

    Each update computes Adam's step, whose gradient has no regularization, and with it
    ``p = p - lr * regularization_scale * p``.

    Raises:
        InvalidArgument: for numbers out of range, and a regularization_type.

    Example:
        >>> x, y = tg.Tensor((64, 16), name="x"), tg.Tensor((64, 1), name="y")
        >>> g = tg.Graph()
        >>> out = g.node(tg.layers.FullyConnected(1), x)
        >>> optimizer = tg.optimizers.AdamW(1e-3, regularization_scale=0.01)
        >>> t = tg.TrainingGraph([g], tg.losses.MeanSquaredError(), optimizer)
        >>> t.add_inputs({"x": x}, {"y": y})
        >>> t.compile("cpu")
)pbdoc";

constexpr const char* kRMSPropDoc = R"pbdoc(
    RMSProp: steps by the gradient, divided by a running mean of its size.

    With the rate lr and the momentum mu each update computes ::

        n = alpha * n + (1 - alpha) * g^2
        d = sqrt(n) + epsilon, or sqrt(n - a^2) + epsilon when centered,
            with a = alpha * a + (1 - alpha) * g
        p = p - lr * g / d                               without momentum
        m = mu * m - lr * g / d;  p = p + m              with momentum

    g is the gradient after clipping, gradient_rescale and regularization; see
    OptimizerDescriptor. n, a and m start as zeros.

    Raises:
        InvalidArgument: for numbers out of range, and options of clipping or
            regularization that the chosen types do not use.

    Example:
        >>> x, y = tg.Tensor((64, 16), name="x"), tg.Tensor((64, 1), name="y")
        >>> g = tg.Graph()
        >>> out = g.node(tg.layers.FullyConnected(1), x)
        >>> optimizer = tg.optimizers.RMSProp(1e-3, momentum_scale=0.9)
        >>> t = tg.TrainingGraph([g], tg.losses.MeanSquaredError(), optimizer)
        >>> t.add_inputs({"x": x}, {"y": y})
        >>> t.compile("cpu")
)pbdoc";

constexpr const char* kOptimizerRateDoc =
    "The learning rate, not below 0; see also Optimizer.schedule.";
constexpr const char* kOptimizerMomentumDoc =
    "How much of its last step a parameter keeps, mu.";
constexpr const char* kOptimizerInsteadDoc =
    "An OptimizerDescriptor, in place of the rate, clipping and "
    "regularization.";

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
  def(row("gradient_rescale", &OptimizerDescriptor::gradient_rescale,
          "A factor of the gradient, behind clipping."),
      row("applies_gradient_clipping", &Clipping::applies,
          "Are gradients clipped? None: when another option of clipping is "
          "given."),
      row("gradient_clipping_type", &Clipping::type,
          "\"by_value\": each element to a range; \"by_norm\": each gradient "
          "to a norm; \"by_global_norm\": all gradients together. None: "
          "by_value."),
      row("gradient_clip_max", &Clipping::max,
          "The largest element, for \"by_value\"; None: 1."),
      row("gradient_clip_min", &Clipping::min,
          "The smallest element, for \"by_value\"; None: -1."),
      row("maximum_clipping_norm", &Clipping::maximum_norm,
          "The largest norm, for \"by_norm\" and \"by_global_norm\"; None: 1."),
      row("custom_global_norm", &Clipping::custom_norm,
          "Taken for the norm of all gradients instead of computing it; None "
          "or 0: computed."),
      row("regularization_type", &OptimizerDescriptor::regularization_type,
          "\"none\", \"l1\" or \"l2\"."),
      row("regularization_scale", &OptimizerDescriptor::regularization_scale,
          "The factor of the regularization, or of the decay of AdamW."));
}

OptimizerDescriptor clipped(OptimizerDescriptor descriptor,
                            const Clipping& clipping) {
  clipping.set(descriptor);
  return descriptor;
}

void bind_optimizer_descriptor(py::module_& m) {
  BoundClass<OptimizerDescriptor> type(m, "OptimizerDescriptor",
                                       kOptimizerDescriptorDoc);
  bind_value(type);
  with_optimizer_rows([&](const auto&... rows) {
    def_init<OptimizerDescriptor, Clipping>(
        type, "OptimizerDescriptor", &clipped,
        row("learning_rate", &OptimizerDescriptor::learning_rate,
            kOptimizerRateDoc),
        rows...);
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
  BoundClass<Optimizer, std::shared_ptr<Optimizer>> optimizer(m, "Optimizer",
                                                              kOptimizerDoc);
  optimizer
      .def_property_readonly("descriptor", &Optimizer::descriptor,
                             "The rate, clipping and regularization, as given.")
      .def_property("learning_rate", &Optimizer::learning_rate,
                    &Optimizer::set_learning_rate,
                    "The rate of the next update that is enqueued. Setting it "
                    "raises StateError while there is a schedule.")
      .def_property("schedule", &Optimizer::schedule, &Optimizer::set_schedule,
                    "The rate of the update with time step t is "
                    "schedule.rate(t - 1); None: learning_rate is what it was "
                    "set to, and can be set.")
      .def_property(
          "applies_gradient_clipping", &Optimizer::applies_gradient_clipping,
          &Optimizer::set_applies_gradient_clipping,
          "Are gradients clipped? Takes effect at the next update that is "
          "enqueued.")
      .def_property("time_step", &Optimizer::time_step,
                    py::cpp_function(&set_time_step, py::is_method(optimizer),
                                     whole("value")),
                    "Number of the next update; starts at 1.")
      .def_property_readonly("name", &Optimizer::name, "Such as \"adam\".")
      .def_property_readonly("slots", &Optimizer::slots,
                             "Names of the buffers of each parameter.")
      .def_property_readonly("corrected_rate", &Optimizer::corrected_rate,
                             "The rate corrected for the current time step.")
#define TRAINGRAPH_DELEGATE(field)                                           \
  .def_property_readonly(                                                    \
      #field, [](const Optimizer& self) { return self.descriptor().field; }, \
      "The descriptor's " #field ".")
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
      plain<OptimizerDescriptor>("descriptor", kOptimizerInsteadDoc), items...);
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
      m, name, doc,
      row("learning_rate", &OptimizerDescriptor::learning_rate,
          kOptimizerRateDoc),
      plain("beta1", 0.9f, "How much the mean of the gradient keeps."),
      plain("beta2", 0.999f, "How much the mean of its square keeps."),
      plain("epsilon", 1e-8f,
            "Is added to the root, so that nothing is divided by 0."),
      plain("uses_amsgrad", false,
            "Is the largest mean of squares so far taken?"),
      plain<std::uint64_t>("time_step", 1, "The number of the next update."));
}

}  // namespace

void bind_optimizers(py::module_& m) {
  using namespace optimizers;
  bind_optimizer_descriptor(m);
  bind_optimizer(m);
  const auto rate = required(
      "learning_rate", &OptimizerDescriptor::learning_rate, kOptimizerRateDoc);
  bind<SGD, Optimizer>(
      m, "SGD", kSGDDoc, rate,
      plain("momentum_scale", 0.0f, kOptimizerMomentumDoc),
      plain("uses_nesterov_momentum", false, "Is the momentum Nesterov's?"))
      .def_property_readonly("momentum_scale", &SGD::momentum_scale)
      .def_property_readonly("uses_nesterov_momentum",
                             &SGD::uses_nesterov_momentum);
  bind_adam<Adam, Optimizer>(m, "Adam", kAdamDoc)
      .def_property_readonly("beta1", &Adam::beta1)
      .def_property_readonly("beta2", &Adam::beta2)
      .def_property_readonly("epsilon", &Adam::epsilon)
      .def_property_readonly("uses_amsgrad", &Adam::uses_amsgrad);
  bind_adam<AdamW, Adam>(m, "AdamW", kAdamWDoc);
  bind<RMSProp, Optimizer>(
      m, "RMSProp", kRMSPropDoc, rate,
      plain("momentum_scale", 0.0f, kOptimizerMomentumDoc),
      plain("alpha", 0.99f, "How much the running means keep."),
      plain("epsilon", 1e-8f,
            "Is added to the root, so that nothing is divided by 0."),
      plain("is_centered", false,
            "Is the square of the mean gradient subtracted?"))
      .def_property_readonly("momentum_scale", &RMSProp::momentum_scale)
      .def_property_readonly("alpha", &RMSProp::alpha)
      .def_property_readonly("epsilon", &RMSProp::epsilon)
      .def_property_readonly("is_centered", &RMSProp::is_centered);
}

}  // namespace traingraph::python
