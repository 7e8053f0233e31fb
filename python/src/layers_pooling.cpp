// SPDX-License-Identifier: MIT
// Pooling and its descriptor.
#include "layers.h"
#include "rows.h"
#include "traingraph/layers.h"

namespace traingraph::python {
namespace {

/// What the forms of a descriptor, and of a layer, have besides. No strides
/// are the kernel size.
struct PoolingWindow {
  OptionalPair padding_sizes, kernel_size, strides;
  PaddingSpec padding{PaddingPolicy::Valid};
};
/// Of Pooling itself.
struct SamePadding {
  PaddingSpec padding;
};

PoolingDescriptor validated(PoolingDescriptor descriptor,
                            const PoolingWindow& window) {
  descriptor.padding_sizes = padding_sizes_of(
      "Pooling", descriptor.padding_policy, window.padding_sizes);
  descriptor.validate();
  return descriptor;
}

void bind_pooling_descriptor(py::module_& m) {
  BoundClass<PoolingDescriptor> type(
      m, "PoolingDescriptor", "Pairs are (height, width), or one integer.");
  const auto window =
      std::tuple(required("kernel_size", &PoolingDescriptor::kernel_size),
                 row("strides", &PoolingDescriptor::strides),
                 row("dilation_rates", &PoolingDescriptor::dilation_rates),
                 row("padding_policy", &PoolingDescriptor::padding_policy),
                 row("padding_sizes", &PoolingWindow::padding_sizes));
  const auto counts = std::tuple(row(
      "count_includes_padding", &PoolingDescriptor::count_includes_padding));
  const auto ceil_mode = std::tuple(
      py::kw_only(), row("ceil_mode", &PoolingDescriptor::ceil_mode));
  std::apply(
      [&](const auto&... items) {
        def_init<PoolingDescriptor, PoolingWindow>(type, "PoolingDescriptor",
                                                   &validated, items...);
      },
      std::tuple_cat(
          std::tuple(required("type", &PoolingDescriptor::pooling_type)),
          window, counts, ceil_mode));
  const auto def_static = [&](const char* name, PoolingType kind,
                              const auto& rows) {
    const auto make = [kind](PoolingDescriptor descriptor,
                             const PoolingWindow& given) {
      descriptor.pooling_type = kind;
      return validated(descriptor, given);
    };
    std::apply(
        [&](const auto&... items) {
          type.def_static(
              name,
              made_of<PoolingDescriptor, PoolingWindow>(name, make, items...),
              rows::keyword(items)...);
        },
        rows);
  };
  const auto plain = std::tuple_cat(window, ceil_mode);
  def_static("max", PoolingType::Max, plain);
  def_static("l2_norm", PoolingType::L2Norm, plain);
  def_static("average", PoolingType::Average,
             std::tuple_cat(window, counts, ceil_mode));
  type.def_readonly("pooling_type", &PoolingDescriptor::pooling_type)
      .def_readonly("count_includes_padding",
                    &PoolingDescriptor::count_includes_padding)
      .def_readonly("ceil_mode", &PoolingDescriptor::ceil_mode,
                    "Does a last window count that begins inside the padded "
                    "image and ends behind it?");
  bind_window_fields(type);
}

/// A layer of one type; `counts` is a row of AveragePooling.
template <class Class, class... Counts>
void bind_pooling_of(py::module_& m, const char* name, const char* doc,
                     const Counts&... counts) {
  BoundClass<Class, layers::Pooling, std::shared_ptr<Class>> type(m, name, doc);
  const auto build = [](const std::string& name,
                        const PoolingDescriptor& descriptor,
                        const PoolingWindow& given) {
    const Pair kernel = given.kernel_size.value_or(Pair{});
    const Pair strides = given.strides.value_or(kernel);
    const auto& [policy, sizes] = given.padding;
    if constexpr (sizeof...(Counts) == 0) {
      return make_layer<Class>(name, kernel, strides, policy, sizes,
                               descriptor.dilation_rates, descriptor.ceil_mode);
    } else {
      return make_layer<Class>(name, kernel, strides, policy, sizes,
                               descriptor.count_includes_padding,
                               descriptor.dilation_rates, descriptor.ceil_mode);
    }
  };
  def_named<PoolingDescriptor, PoolingWindow>(
      type, name, build, row("kernel_size", &PoolingWindow::kernel_size),
      row("strides", &PoolingWindow::strides),
      row("padding", &PoolingWindow::padding), counts..., py::kw_only(),
      row("dilation_rates", &PoolingDescriptor::dilation_rates),
      row("ceil_mode", &PoolingDescriptor::ceil_mode));
}

}  // namespace

void bind_window_layers(py::module_& m) {
  bind_pooling_descriptor(m);
  using Class = layers::Pooling;
  BoundClass<Class, Layer, std::shared_ptr<Class>> type(
      m, "Pooling",
      "(N, C, H, W) -> (N, C, H', W'), over windows; (N, C, L) is an "
      "image of one row.");
  def_layer(type, "Pooling", plain<PoolingDescriptor>("descriptor"),
            py::kw_only());
  const auto build = [](const std::string& name, PoolingDescriptor descriptor,
                        const SamePadding& given) {
    descriptor.padding_policy = given.padding.policy;
    PoolingWindow window;
    window.padding_sizes = given.padding.sizes;
    return make_layer<Class>(name, validated(descriptor, window));
  };
  def_named<PoolingDescriptor, SamePadding>(
      type, "Pooling", build,
      required("pooling_type", &PoolingDescriptor::pooling_type),
      required("kernel_size", &PoolingDescriptor::kernel_size),
      row("strides", &PoolingDescriptor::strides),
      row("padding", &SamePadding::padding), py::kw_only(),
      row("dilation_rates", &PoolingDescriptor::dilation_rates),
      row("count_includes_padding", &PoolingDescriptor::count_includes_padding),
      row("ceil_mode", &PoolingDescriptor::ceil_mode));
  type.def_property_readonly("descriptor", &Class::descriptor);
  bind_pooling_of<layers::MaxPooling>(m, "MaxPooling",
                                      "The largest sample of each window; "
                                      "padding never wins. No strides are the "
                                      "kernel size.");
  bind_pooling_of<layers::L2NormPooling>(
      m, "L2NormPooling",
      "The root of the sum of squares of each window. No strides are the "
      "kernel "
      "size.");
  bind_pooling_of<layers::AveragePooling>(
      m, "AveragePooling",
      "The mean of each window, with or without padded samples. No strides are "
      "the kernel size.",
      row("count_includes_padding",
          &PoolingDescriptor::count_includes_padding));
}

}  // namespace traingraph::python
