// SPDX-License-Identifier: MIT
#include "traingraph/layers/pooling.h"

#include "layers/layer_builder.h"
#include "layers/one_row.h"
#include "layers/validate.h"
#include "ops/window.h"

namespace traingraph {
namespace {

constexpr const char* kPooling = "Pooling";

PoolingDescriptor of_type(PoolingDescriptor options, PoolingType type) {
  require_option(options.pooling_type == PoolingDescriptor{}.pooling_type ||
                     options.pooling_type == type,
                 kPooling, "pooling_type", std::string(to_string(type)),
                 std::string(to_string(options.pooling_type)),
                 "The factory sets it.");
  options.pooling_type = type;
  options.validate();
  return options;
}

}  // namespace

PoolingDescriptor PoolingDescriptor::max(PoolingDescriptor options) {
  return of_type(options, PoolingType::Max);
}

PoolingDescriptor PoolingDescriptor::average(PoolingDescriptor options) {
  return of_type(options, PoolingType::Average);
}

PoolingDescriptor PoolingDescriptor::l2_norm(PoolingDescriptor options) {
  return of_type(options, PoolingType::L2Norm);
}

void PoolingDescriptor::validate() const {
  require_option(to_string(pooling_type) != "?", kPooling, "pooling_type",
                 "a case of PoolingType",
                 std::to_string(static_cast<int>(pooling_type)));
  require_kernel(kPooling, kernel_size);
  require_positive(kPooling, "strides", strides);
  require_positive(kPooling, "dilation_rates", dilation_rates);
  require_option(to_string(padding_policy) != "?", kPooling, "padding_policy",
                 "a case of PaddingPolicy",
                 std::to_string(static_cast<int>(padding_policy)));
  require_padding_sizes(kPooling, padding_policy, padding_sizes);
  require_option(
      !count_includes_padding || pooling_type == PoolingType::Average, kPooling,
      "count_includes_padding", "off: only average pooling counts", "on");
}

namespace layers {
namespace {

/// What the descriptor says, and with what a last window has to have behind it.
struct PoolPadding {
  traingraph::Padding given{}, extended{};
};

PoolPadding padding_of(const PoolingDescriptor& descriptor,
                       const Shape& shape) {
  PoolPadding result;
  for (int axis = 0; axis < 2; ++axis) {
    const AxisWindow window{.kernel = descriptor.kernel_size[axis],
                            .stride = descriptor.strides[axis],
                            .dilation = descriptor.dilation_rates[axis]};
    const AxisPadding padding =
        resolve_padding(descriptor.padding_policy, shape[2 + axis], window,
                        descriptor.padding_sizes[axis]);
    const AxisPadding extended =
        descriptor.ceil_mode ? extend_padding(shape[2 + axis], window, padding)
                             : padding;
    result.given[2 * axis] = padding.before;
    result.given[2 * axis + 1] = padding.after;
    result.extended[2 * axis] = extended.before;
    result.extended[2 * axis + 1] = extended.after;
  }
  return result;
}

AveragePool2dAttrs average_attrs(const PoolingDescriptor& descriptor,
                                 const traingraph::Padding& padding,
                                 bool count_includes_padding) {
  return {.kernel_size = descriptor.kernel_size,
          .strides = descriptor.strides,
          .dilation_rates = descriptor.dilation_rates,
          .padding = padding,
          .count_includes_padding = count_includes_padding};
}

/// An average that counts the padding, but not what ceil mode adds to it: of an
/// image with the padding, of which it counts all samples.
ValueId average_of_padded(LayerBuilder& builder,
                          const PoolingDescriptor& descriptor,
                          const PoolPadding& padding, ValueId x) {
  const auto [top, bottom, left, right] = padding.given;
  const ValueId padded =
      builder.append(OpKind::Pad,
                     PadAttrs{.type = PaddingType::Zero,
                              .before = {0, 0, top, left},
                              .after = {0, 0, bottom, right}},
                     {x});
  const traingraph::Padding beyond{0, padding.extended[1] - bottom, 0,
                                   padding.extended[3] - right};
  return builder.append(OpKind::AveragePool2d,
                        average_attrs(descriptor, beyond,
                                      /*count_includes_padding=*/false),
                        {padded});
}

ValueId average(LayerBuilder& builder, const PoolingDescriptor& descriptor,
                const PoolPadding& padding, ValueId x) {
  const bool counts = descriptor.count_includes_padding;
  if (counts && padding.extended != padding.given) {
    return average_of_padded(builder, descriptor, padding, x);
  }
  return builder.append(OpKind::AveragePool2d,
                        average_attrs(descriptor, padding.extended, counts),
                        {x});
}

/// Errors of the average that is part of it are its own.
template <class Append>
ValueId named(Append append) {
  const auto own = [](ErrorInfo info) {
    info.op = "l2_norm_pooling";
    return info;
  };
  try {
    return append();
  } catch (const ShapeError& error) {
    throw ShapeError(own(error.info()));
  } catch (const DTypeError& error) {
    throw DTypeError(own(error.info()));
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(own(error.info()));
  }
}

/// The root of the sum of squares. sqrt has no derivative at 0, so zeros go
/// through it as ones and are put back, which makes their gradient 0.
ValueId l2_norm(LayerBuilder& builder, const PoolingDescriptor& descriptor,
                const traingraph::Padding& padding, ValueId x) {
  const auto constant = [&](float value) {
    return builder.append(
        OpKind::Fill, FillAttrs{{1, 1, 1, 1}, value, builder.desc(x).data_type},
        {});
  };
  const auto arithmetic = [&](ArithmeticOperation operation) {
    return ArithmeticAttrs{.operation = operation};
  };
  const ValueId squares = builder.append(
      OpKind::Binary, arithmetic(ArithmeticOperation::Multiply), {x, x});
  const ValueId mean = builder.append(
      OpKind::AveragePool2d,
      average_attrs(descriptor, padding, /*count_includes_padding=*/true),
      {squares});
  const auto count =
      static_cast<float>(descriptor.kernel_size[0] * descriptor.kernel_size[1]);
  const ValueId sum =
      builder.append(OpKind::Binary, arithmetic(ArithmeticOperation::Multiply),
                     {mean, constant(count)});
  const ValueId zero = constant(0);
  const ValueId is_positive = builder.append(
      OpKind::Compare, CompareAttrs{.operation = ComparisonOperation::Greater},
      {sum, zero});
  const ValueId safe = builder.append(OpKind::Select, NoAttrs{},
                                      {is_positive, sum, constant(1)});
  const ValueId root = builder.append(
      OpKind::Unary, arithmetic(ArithmeticOperation::Sqrt), {safe});
  return builder.append(OpKind::Select, NoAttrs{}, {is_positive, root, zero});
}

/// Pools images.
ValueId pooled(LayerBuilder& builder, const PoolingDescriptor& descriptor,
               ValueId x) {
  const PoolPadding padding = padding_of(descriptor, builder.shape(x));
  switch (descriptor.pooling_type) {
    case PoolingType::Average:
      return average(builder, descriptor, padding, x);
    case PoolingType::L2Norm:
      return named(
          [&] { return l2_norm(builder, descriptor, padding.extended, x); });
    case PoolingType::Max:
      break;
  }
  return builder.append(OpKind::MaxPool2d,
                        Pool2dAttrs{.kernel_size = descriptor.kernel_size,
                                    .strides = descriptor.strides,
                                    .dilation_rates = descriptor.dilation_rates,
                                    .padding = padding.extended},
                        {x});
}

PoolingDescriptor describe(PoolingType type, Pair kernel_size, Pair strides,
                           PaddingPolicy padding_policy, Pair padding_sizes,
                           Pair dilation_rates, bool ceil_mode,
                           bool count_includes_padding = false) {
  return {.pooling_type = type,
          .kernel_size = kernel_size,
          .strides = strides,
          .dilation_rates = dilation_rates,
          .padding_policy = padding_policy,
          .padding_sizes = padding_sizes,
          .count_includes_padding = count_includes_padding,
          .ceil_mode = ceil_mode};
}

}  // namespace

Pooling::Pooling(PoolingDescriptor descriptor)
    : Pooling(descriptor, kPooling) {}

Pooling::Pooling(PoolingDescriptor descriptor, const char* class_name)
    : Layer(class_name), descriptor_(descriptor) {
  descriptor_.validate();
}

bool Pooling::supports_data_type(DataType data_type, const Device& device) {
  return takes(OpKind::MaxPool2d, data_type, device);
}

void Pooling::lower(LayerBuilder& builder) const {
  builder.require_sources(1, 1);
  const ValueId x = builder.source(0);
  const int rank = builder.shape(x).rank();
  if (rank == 4) return builder.add_result(pooled(builder, descriptor_, x));
  if (rank == 3) {
    const ValueId y = pooled(builder, of_one_row(kPooling, descriptor_),
                             as_image(builder, x));
    return builder.add_result(as_sequence(builder, y));
  }
  throw ShapeError(ErrorInfo{.op = "node",
                             .node = builder.name(),
                             .what = "the source does not fit the layer",
                             .expected = "(N, C, H, W), or (N, C, L)",
                             .got = builder.shape(x).to_string(),
                             .hint = {}});
}

MaxPooling::MaxPooling(std::int64_t kernel_size, PaddingPolicy padding_policy)
    : MaxPooling(kernel_size, kernel_size, padding_policy) {}

MaxPooling::MaxPooling(std::int64_t kernel_size, std::int64_t strides,
                       PaddingPolicy padding_policy)
    : MaxPooling(Pair{kernel_size, kernel_size}, Pair{strides, strides},
                 padding_policy) {}

MaxPooling::MaxPooling(Pair kernel_size, PaddingPolicy padding_policy,
                       Pair padding_sizes, Pair dilation_rates, bool ceil_mode)
    : MaxPooling(kernel_size, /*strides=*/kernel_size, padding_policy,
                 padding_sizes, dilation_rates, ceil_mode) {}

MaxPooling::MaxPooling(Pair kernel_size, Pair strides,
                       PaddingPolicy padding_policy, Pair padding_sizes,
                       Pair dilation_rates, bool ceil_mode)
    : Pooling(describe(PoolingType::Max, kernel_size, strides, padding_policy,
                       padding_sizes, dilation_rates, ceil_mode),
              "MaxPooling") {}

AveragePooling::AveragePooling(std::int64_t kernel_size,
                               PaddingPolicy padding_policy,
                               bool count_includes_padding)
    : AveragePooling(kernel_size, kernel_size, padding_policy,
                     count_includes_padding) {}

AveragePooling::AveragePooling(std::int64_t kernel_size, std::int64_t strides,
                               PaddingPolicy padding_policy,
                               bool count_includes_padding)
    : AveragePooling(Pair{kernel_size, kernel_size}, Pair{strides, strides},
                     padding_policy, Pair{}, count_includes_padding) {}

AveragePooling::AveragePooling(Pair kernel_size, PaddingPolicy padding_policy,
                               Pair padding_sizes, bool count_includes_padding,
                               Pair dilation_rates, bool ceil_mode)
    : AveragePooling(kernel_size, /*strides=*/kernel_size, padding_policy,
                     padding_sizes, count_includes_padding, dilation_rates,
                     ceil_mode) {}

AveragePooling::AveragePooling(Pair kernel_size, Pair strides,
                               PaddingPolicy padding_policy, Pair padding_sizes,
                               bool count_includes_padding, Pair dilation_rates,
                               bool ceil_mode)
    : Pooling(describe(PoolingType::Average, kernel_size, strides,
                       padding_policy, padding_sizes, dilation_rates, ceil_mode,
                       count_includes_padding),
              "AveragePooling") {}

L2NormPooling::L2NormPooling(std::int64_t kernel_size,
                             PaddingPolicy padding_policy)
    : L2NormPooling(kernel_size, kernel_size, padding_policy) {}

L2NormPooling::L2NormPooling(std::int64_t kernel_size, std::int64_t strides,
                             PaddingPolicy padding_policy)
    : L2NormPooling(Pair{kernel_size, kernel_size}, Pair{strides, strides},
                    padding_policy) {}

L2NormPooling::L2NormPooling(Pair kernel_size, PaddingPolicy padding_policy,
                             Pair padding_sizes, Pair dilation_rates,
                             bool ceil_mode)
    : L2NormPooling(kernel_size, /*strides=*/kernel_size, padding_policy,
                    padding_sizes, dilation_rates, ceil_mode) {}

L2NormPooling::L2NormPooling(Pair kernel_size, Pair strides,
                             PaddingPolicy padding_policy, Pair padding_sizes,
                             Pair dilation_rates, bool ceil_mode)
    : Pooling(
          describe(PoolingType::L2Norm, kernel_size, strides, padding_policy,
                   padding_sizes, dilation_rates, ceil_mode),
          "L2NormPooling") {}

}  // namespace layers
}  // namespace traingraph
