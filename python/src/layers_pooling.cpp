// SPDX-License-Identifier: MIT
// Pooling and its descriptor.
#include "layers.h"
#include "traingraph/layers.h"

namespace traingraph::python {
namespace {

PoolingDescriptor pooling_descriptor(PoolingType type, Pair kernel_sizes,
                                     Pair strides, Pair dilation_rates,
                                     PaddingPolicy policy,
                                     const OptionalPair& padding_sizes,
                                     bool count_includes_padding,
                                     bool ceil_mode) {
  const PoolingDescriptor descriptor{
      .pooling_type = type,
      .kernel_sizes = kernel_sizes,
      .strides = strides,
      .dilation_rates = dilation_rates,
      .padding_policy = policy,
      .padding_sizes = padding_sizes_of("Pooling", policy, padding_sizes),
      .count_includes_padding = count_includes_padding,
      .ceil_mode = ceil_mode};
  descriptor.validate();
  return descriptor;
}

template <PoolingType kType>
PoolingDescriptor make_of_type(Pair kernel_sizes, Pair strides,
                               Pair dilation_rates, PaddingPolicy policy,
                               const OptionalPair& padding_sizes,
                               bool ceil_mode) {
  return pooling_descriptor(kType, kernel_sizes, strides, dilation_rates,
                            policy, padding_sizes, false, ceil_mode);
}

void bind_pooling_descriptor(py::module_& m) {
  BoundClass<PoolingDescriptor> type(
      m, "PoolingDescriptor", "Pairs are (height, width), or one integer.");
  with_window_arguments([&](const auto&... window) {
    const py::arg kernel_sizes("kernel_sizes");
    const auto counts = py::arg("count_includes_padding") = false;
    const auto ceil_mode = py::arg("ceil_mode") = false;
    const py::kw_only named;
    type.def(py::init(&pooling_descriptor), py::arg("type"), kernel_sizes,
             window..., counts, named, ceil_mode);
    type.def_static("max", &make_of_type<PoolingType::Max>, kernel_sizes,
                    window..., named, ceil_mode);
    type.def_static("l2_norm", &make_of_type<PoolingType::L2Norm>, kernel_sizes,
                    window..., named, ceil_mode);
    type.def_static(
        "average",
        [](Pair kernel_sizes, Pair strides, Pair dilation_rates,
           PaddingPolicy policy, const OptionalPair& padding_sizes,
           bool count_includes_padding, bool ceil_mode) {
          return pooling_descriptor(PoolingType::Average, kernel_sizes, strides,
                                    dilation_rates, policy, padding_sizes,
                                    count_includes_padding, ceil_mode);
        },
        kernel_sizes, window..., counts, named, ceil_mode);
  });
  type.def_readonly("pooling_type", &PoolingDescriptor::pooling_type)
      .def_readonly("count_includes_padding",
                    &PoolingDescriptor::count_includes_padding)
      .def_readonly("ceil_mode", &PoolingDescriptor::ceil_mode,
                    "Does a last window count that begins inside the padded "
                    "image and ends behind it?");
  bind_window_fields(type);
}

/// kernel_size and strides with both spellings; no stride is the kernel size.
struct Window {
  Window(const char* op, const OptionalPair& kernel_size,
         const OptionalPair& kernel_sizes, const OptionalPair& stride,
         const OptionalPair& strides)
      : kernel(one_of(op, "kernel_size", kernel_size, "kernel_sizes",
                      kernel_sizes, Pair{})),
        step(one_of(op, "stride", stride, "strides", strides, kernel)) {}
  Pair kernel, step;
};

template <class Class>
void bind_pooling_of(py::module_& m, const char* name, const char* doc) {
  BoundClass<Class, layers::Pooling, std::shared_ptr<Class>>(m, name, doc)
      .def(py::init([name](const OptionalPair& kernel_size,
                           const OptionalPair& stride,
                           const PaddingSpec& padding,
                           const OptionalPair& kernel_sizes,
                           const OptionalPair& strides, Pair dilation_rates,
                           bool ceil_mode, const std::string& label) {
             const Window window(name, kernel_size, kernel_sizes, stride,
                                 strides);
             return make_layer<Class>(label, window.kernel, window.step,
                                      padding.policy, padding.sizes,
                                      dilation_rates, ceil_mode);
           }),
           py::arg("kernel_size") = py::none(), py::arg("stride") = py::none(),
           py::arg("padding") = "valid", py::kw_only(),
           py::arg("kernel_sizes") = py::none(),
           py::arg("strides") = py::none(), py::arg("dilation_rates") = kOnes,
           py::arg("ceil_mode") = false, py::arg("label") = "");
}

}  // namespace

void bind_window_layers(py::module_& m) {
  bind_pooling_descriptor(m);
  using Class = layers::Pooling;
  BoundClass<Class, Layer, std::shared_ptr<Class>>(
      m, "Pooling",
      "(N, C, H, W) -> (N, C, H', W'), over windows; (N, C, L) is an "
      "image of one row.")
      .def(py::init([](const PoolingDescriptor& descriptor,
                       const std::string& label) {
             return make_layer<Class>(label, descriptor);
           }),
           py::arg("descriptor"), py::kw_only(), py::arg("label") = "")
      .def(py::init([](PoolingType type, Pair kernel_size, Pair strides,
                       const PaddingSpec& padding, Pair dilation_rates,
                       bool count_includes_padding, bool ceil_mode,
                       const std::string& label) {
             return make_layer<Class>(
                 label,
                 pooling_descriptor(type, kernel_size, strides, dilation_rates,
                                    padding.policy, padding.sizes,
                                    count_includes_padding, ceil_mode));
           }),
           py::arg("pooling_type"), py::arg("kernel_size"),
           py::arg("strides") = kOnes, py::arg("padding") = "same",
           py::kw_only(), py::arg("dilation_rates") = kOnes,
           py::arg("count_includes_padding") = false,
           py::arg("ceil_mode") = false, py::arg("label") = "")
      .def_property_readonly("descriptor", &Class::descriptor);
  bind_pooling_of<layers::MaxPooling>(
      m, "MaxPooling",
      "The largest sample of each window; padding never wins. No stride is the "
      "kernel size.");
  bind_pooling_of<layers::L2NormPooling>(
      m, "L2NormPooling",
      "The root of the sum of squares of each window. No stride is the kernel "
      "size.");
  using Average = layers::AveragePooling;
  BoundClass<Average, Class, std::shared_ptr<Average>>(
      m, "AveragePooling",
      "The mean of each window, with or without padded samples. No stride is "
      "the kernel size.")
      .def(py::init([](const OptionalPair& kernel_size,
                       const OptionalPair& stride, const PaddingSpec& padding,
                       bool count_includes_padding,
                       const OptionalPair& kernel_sizes,
                       const OptionalPair& strides, Pair dilation_rates,
                       bool ceil_mode, const std::string& label) {
             const Window window("AveragePooling", kernel_size, kernel_sizes,
                                 stride, strides);
             return make_layer<Average>(label, window.kernel, window.step,
                                        padding.policy, padding.sizes,
                                        count_includes_padding, dilation_rates,
                                        ceil_mode);
           }),
           py::arg("kernel_size") = py::none(), py::arg("stride") = py::none(),
           py::arg("padding") = "valid",
           py::arg("count_includes_padding") = false, py::kw_only(),
           py::arg("kernel_sizes") = py::none(),
           py::arg("strides") = py::none(), py::arg("dilation_rates") = kOnes,
           py::arg("ceil_mode") = false, py::arg("label") = "");
}

}  // namespace traingraph::python
