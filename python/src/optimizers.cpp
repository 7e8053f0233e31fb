// SPDX-License-Identifier: MIT
// Optimizers: by descriptor, or with the descriptor's fields as keywords. What
// is an optimizer's own follows from the attributes of its update.
#include "traingraph/optimizers.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rows.h"
#include "traingraph/op_info.h"

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

/// Behind what the update's op says of its rule.
constexpr const char* kRuleDoc = R"pbdoc(
    g is the gradient after clipping, gradient_rescale and regularization; see
    OptimizerDescriptor. What the rule keeps from update to update starts as zeros.

    Raises:
        InvalidArgument: for numbers out of range, and options of clipping or
            regularization that the chosen types do not use.

    Example:
        >>> x, y = tg.Tensor((64, 16), name="x"), tg.Tensor((64, 1), name="y")
        >>> g = tg.Graph()
        >>> out = g.node(tg.layers.FullyConnected(1), x)
        >>> optimizer = tg.optimizers.NAME(1e-3, gradient_clip_max=1)
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

constexpr const char* kOptimizerRateDoc =
    "The learning rate, not below 0; see also Optimizer.schedule.";
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

const OpInfo& info_of(OpKind op) {
  static const std::vector<OpInfo> infos = op_infos();
  return infos.at(static_cast<std::size_t>(op));
}

std::string doc_of(const char* class_name, const OpInfo& update) {
  const std::string rule = update.doc.substr(0, update.doc.find("\n    Args:"));
  std::string rest = kRuleDoc;
  return rule + rest.replace(rest.find("NAME"), 4, class_name);
}

const char* doc_of(const OpInfo& update, std::string_view attribute) {
  return std::ranges::find(update.attributes, attribute, &OpAttribute::name)
      ->doc.c_str();
}

/// The position of a field; how many there are if it is none.
template <class Attrs>
constexpr std::size_t field_index(std::string_view name) {
  const auto names = std::apply(
      [](const auto&... field) {
        return std::array{std::string_view(field.name)...};
      },
      Attrs::fields());
  return std::ranges::find(names, name) - names.begin();
}

/// Calls use(fields...) with the hyperparameters that are arguments: what
/// stands behind the fields of all updates, without what makes AdamW of Adam.
template <class Attrs, class Use>
void with_hyperparameters(Use&& use) {
  constexpr std::size_t kFirst = field_index<Attrs>("lr_scale") + 1;
  constexpr std::size_t kCount = field_index<Attrs>("decoupled_decay") - kFirst;
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    use(std::get<kFirst + i>(Attrs::fields())...);
  }(std::make_index_sequence<kCount>());
}

template <class Class>
struct Maker {
  using Attrs = typename Class::Attrs;

  static auto make(const OptimizerDescriptor& descriptor, const Attrs& attrs) {
    return std::make_shared<Class>(descriptor, attrs);
  }
  static auto make(const OptimizerDescriptor& descriptor,
                   std::uint64_t time_step, const Attrs& attrs) {
    return std::make_shared<Class>(descriptor, attrs, time_step);
  }
  static auto make(const Attrs& attrs, const OptimizerDescriptor& descriptor,
                   const Clipping& clipping) {
    return make(clipped(descriptor, clipping), attrs);
  }
  static auto make(std::uint64_t time_step, const Attrs& attrs,
                   const OptimizerDescriptor& descriptor,
                   const Clipping& clipping) {
    return make(clipped(descriptor, clipping), time_step, attrs);
  }
};

/// `items` are the arguments behind the descriptor or the rate.
template <class Class, class Type, class... Items>
void def_constructors(Type& type, const Items&... items) {
  using Attrs = typename Class::Attrs;
  const auto make = [](const auto&... all) {
    return Maker<Class>::make(all...);
  };
  def_init<Attrs>(
      type, Class::kName, make,
      plain<OptimizerDescriptor>("descriptor", kOptimizerInsteadDoc), items...);
  with_optimizer_rows([&](const auto&... rows) {
    const auto member = &OptimizerDescriptor::learning_rate;
    const auto def = [&](const auto& rate) {
      def_init<Attrs, OptimizerDescriptor, Clipping>(
          type, Class::kName, make, rate, items..., py::kw_only(), rows...);
    };
    if constexpr (std::is_default_constructible_v<Class>) {
      def(row("learning_rate", member, kOptimizerRateDoc));
    } else {
      def(required("learning_rate", member, kOptimizerRateDoc));
    }
  });
}

/// The arguments, and the properties of what they were, are the hyperparameters
/// of the update.
template <class Class>
void bind_rule(py::module_& m) {
  using namespace optimizers;
  using Attrs = typename Class::Attrs;
  constexpr bool kIsAdamW = std::is_same_v<Class, AdamW>;
  using Base = std::conditional_t<kIsAdamW, Adam, Optimizer>;
  const OpInfo& update = info_of(Class(OptimizerDescriptor(), Attrs()).op());
  const std::string doc = kIsAdamW ? kAdamWDoc : doc_of(Class::kName, update);
  BoundClass<Class, Base, std::shared_ptr<Class>> type(m, Class::kName,
                                                       doc.c_str());
  with_hyperparameters<Attrs>([&](const auto&... field) {
    const auto def = [&](const auto&... step) {
      def_constructors<Class>(
          type, row(field.name, field.member, doc_of(update, field.name))...,
          step...);
    };
    if constexpr (std::is_base_of_v<Adam, Class>) {
      def(plain<std::uint64_t>("time_step", 1,
                               "The number of the next update."));
    } else {
      def();
    }
    if constexpr (!kIsAdamW) {
      (type.def_property_readonly(field.name,
                                  [member = field.member](const Class& self) {
                                    return std::get<Attrs>(self.attributes()).*
                                           member;
                                  }),
       ...);
    }
  });
}

template <class... Classes>
void bind_rules(py::module_& m, optimizers::ClassList<Classes...>) {
  (bind_rule<Classes>(m), ...);
}

}  // namespace

void bind_optimizers(py::module_& m) {
  bind_optimizer_descriptor(m);
  bind_optimizer(m);
  bind_rules(m, optimizers::All());
}

}  // namespace traingraph::python
