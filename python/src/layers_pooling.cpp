// SPDX-License-Identifier: MIT
// Pooling and its descriptor.
#include "layers.h"
#include "rows.h"
#include "traingraph/layers.h"

namespace traingraph::python {
namespace {

constexpr const char* kPoolingDescriptorDoc = R"pbdoc(
    The options of Pooling, as ML Compute has them.

    Pairs are (height, width), or one integer for both.

    Raises:
        InvalidArgument: for sizes, strides and rates below 1, and for the policy
            "use_padding_size" without sizes.
)pbdoc";

constexpr const char* kPoolingDoc = R"pbdoc(
    Reduces the windows of each channel to one number.

    (N, C, H, W) -> (N, C, H', W'), or (N, C, L) -> (N, C, L') as an image of one row.
    With k' = (kernel - 1) * dilation + 1, extents are ceil(in / stride) for "same", and
    floor((in + 2 * padding - k') / stride) + 1 otherwise. MaxPooling, AveragePooling
    and L2NormPooling say what the types compute.

    Raises:
        InvalidArgument: for sizes, strides and rates below 1.
        ShapeError: from node(), for a source that is smaller than the window.

    Example:
        >>> g, image = tg.Graph(), tg.Tensor((64, 3, 32, 32))
        >>> g.node(tg.layers.Pooling("max", 3, strides=2), image).shape
        (64, 3, 16, 16)
)pbdoc";

constexpr const char* kMaxPoolingDoc = R"pbdoc(
    The largest element of each window; padding never wins.

    (N, C, H, W) -> (N, C, H', W'), or (N, C, L) -> (N, C, L') as an image of one row.
    The gradient goes to the first largest element of the window. Extents are as those
    of Pooling.

    Raises:
        InvalidArgument: for sizes, strides and rates below 1.
        ShapeError: from node(), for a source that is smaller than the window.

    Example:
        >>> g, image = tg.Graph(), tg.Tensor((64, 3, 32, 32))
        >>> g.node(tg.layers.MaxPooling(2), image).shape
        (64, 3, 16, 16)
        >>> g.node(tg.layers.MaxPooling(3, strides=2, padding="same"), image).shape
        (64, 3, 16, 16)
)pbdoc";

constexpr const char* kL2NormPoolingDoc = R"pbdoc(
    The root of the sum of squares of each window.

    (N, C, H, W) -> (N, C, H', W'), or (N, C, L) -> (N, C, L') as an image of one row.
    The gradient is g * x / y, and 0 where y is 0. Extents are as those of Pooling.

    Raises:
        InvalidArgument: for sizes, strides and rates below 1.
        ShapeError: from node(), for a source that is smaller than the window.

    Example:
        >>> g, image = tg.Graph(), tg.Tensor((64, 3, 32, 32))
        >>> g.node(tg.layers.L2NormPooling((1, 2)), image).shape
        (64, 3, 32, 16)
)pbdoc";

constexpr const char* kAveragePoolingDoc = R"pbdoc(
    The mean of each window.

    (N, C, H, W) -> (N, C, H', W'), or (N, C, L) -> (N, C, L') as an image of one row.
    The mean is over the elements inside of the image, or over all positions with
    count_includes_padding. Extents are as those of Pooling.

    Raises:
        InvalidArgument: for sizes, strides and rates below 1.
        ShapeError: from node(), for a source that is smaller than the window.

    Example:
        >>> g, sound = tg.Graph(), tg.Tensor((8, 16, 1000))
        >>> g.node(tg.layers.AveragePooling((1, 10)), sound).shape
        (8, 16, 100)
)pbdoc";

constexpr const char* kPoolTypeDoc = "\"max\", \"average\" or \"l2_norm\".";
constexpr const char* kPoolKernelDoc =
    "Height and width of the window, a pair or one integer; required. Height 1 "
    "for "
    "(N, C, L).";
constexpr const char* kPoolDilationDoc =
    "Distances of the elements of a window.";
constexpr const char* kPoolCountDoc =
    "Does the mean of average pooling count padding?";
constexpr const char* kPoolCeilDoc =
    "Does a last window count that begins inside the padded image and ends "
    "behind it?";

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
  BoundClass<PoolingDescriptor> type(m, "PoolingDescriptor",
                                     kPoolingDescriptorDoc);
  const auto window = std::tuple(
      required("kernel_size", &PoolingDescriptor::kernel_size,
               "Height and width of the window."),
      row("strides", &PoolingDescriptor::strides, "Distances of the windows."),
      row("dilation_rates", &PoolingDescriptor::dilation_rates,
          kPoolDilationDoc),
      row("padding_policy", &PoolingDescriptor::padding_policy,
          kPaddingPolicyDoc),
      row("padding_sizes", &PoolingWindow::padding_sizes, kPaddingSizesDoc));
  const auto counts = std::tuple(row("count_includes_padding",
                                     &PoolingDescriptor::count_includes_padding,
                                     kPoolCountDoc));
  const auto ceil_mode =
      std::tuple(py::kw_only(),
                 row("ceil_mode", &PoolingDescriptor::ceil_mode, kPoolCeilDoc));
  std::apply(
      [&](const auto&... items) {
        def_init<PoolingDescriptor, PoolingWindow>(type, "PoolingDescriptor",
                                                   &validated, items...);
      },
      std::tuple_cat(
          std::tuple(
              required("type", &PoolingDescriptor::pooling_type, kPoolTypeDoc)),
          window, counts, ceil_mode));
  const auto def_static = [&](const char* name, PoolingType kind,
                              const char* doc, const auto& rows) {
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
              rows::keyword(items)..., rows::documented(doc, items...).c_str());
        },
        rows);
  };
  const auto plain = std::tuple_cat(window, ceil_mode);
  def_static("max", PoolingType::Max, "Describes max pooling.", plain);
  def_static("l2_norm", PoolingType::L2Norm, "Describes L2 norm pooling.",
             plain);
  def_static("average", PoolingType::Average, "Describes average pooling.",
             std::tuple_cat(window, counts, ceil_mode));
  type.def_readonly("pooling_type", &PoolingDescriptor::pooling_type,
                    kPoolTypeDoc)
      .def_readonly("count_includes_padding",
                    &PoolingDescriptor::count_includes_padding)
      .def_readonly("ceil_mode", &PoolingDescriptor::ceil_mode);
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
      type, name, build,
      row("kernel_size", &PoolingWindow::kernel_size, kPoolKernelDoc),
      row("strides", &PoolingWindow::strides,
          "Distances of the windows; None: the kernel size."),
      row("padding", &PoolingWindow::padding, kPaddingDoc), counts...,
      py::kw_only(),
      row("dilation_rates", &PoolingDescriptor::dilation_rates,
          kPoolDilationDoc),
      row("ceil_mode", &PoolingDescriptor::ceil_mode, kPoolCeilDoc));
}

}  // namespace

void bind_window_layers(py::module_& m) {
  bind_pooling_descriptor(m);
  using Class = layers::Pooling;
  BoundClass<Class, Layer, std::shared_ptr<Class>> type(m, "Pooling",
                                                        kPoolingDoc);
  def_layer(type, "Pooling",
            plain<PoolingDescriptor>(
                "descriptor", "A PoolingDescriptor, in place of all others."),
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
      required("pooling_type", &PoolingDescriptor::pooling_type, kPoolTypeDoc),
      required("kernel_size", &PoolingDescriptor::kernel_size, kPoolKernelDoc),
      row("strides", &PoolingDescriptor::strides, "Distances of the windows."),
      row("padding", &SamePadding::padding, kPaddingDoc), py::kw_only(),
      row("dilation_rates", &PoolingDescriptor::dilation_rates,
          kPoolDilationDoc),
      row("count_includes_padding", &PoolingDescriptor::count_includes_padding,
          kPoolCountDoc),
      row("ceil_mode", &PoolingDescriptor::ceil_mode, kPoolCeilDoc));
  type.def_property_readonly("descriptor", &Class::descriptor,
                             "The options of the layer.");
  bind_pooling_of<layers::MaxPooling>(m, "MaxPooling", kMaxPoolingDoc);
  bind_pooling_of<layers::L2NormPooling>(m, "L2NormPooling", kL2NormPoolingDoc);
  bind_pooling_of<layers::AveragePooling>(
      m, "AveragePooling", kAveragePoolingDoc,
      row("count_includes_padding", &PoolingDescriptor::count_includes_padding,
          kPoolCountDoc));
}

}  // namespace traingraph::python
