// SPDX-License-Identifier: MIT
#include "traingraph/layers/pooling.h"

#include "layers/layer_builder.h"
#include "layers/validate.h"
#include "ops/window.h"

namespace traingraph {
namespace {

constexpr const char* kOp = "Pooling";

PoolingDescriptor of_type(PoolingDescriptor options, PoolingType type) {
  require_option(options.pooling_type == PoolingDescriptor{}.pooling_type ||
                     options.pooling_type == type,
                 kOp, "pooling_type", std::string(to_string(type)),
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
  require_option(to_string(pooling_type) != "?", kOp, "pooling_type",
                 "a case of PoolingType",
                 std::to_string(static_cast<int>(pooling_type)));
  require_kernel(kOp, kernel_sizes);
  require_positive(kOp, "strides", strides);
  require_positive(kOp, "dilation_rates", dilation_rates);
  require_option(to_string(padding_policy) != "?", kOp, "padding_policy",
                 "a case of PaddingPolicy",
                 std::to_string(static_cast<int>(padding_policy)));
  require_padding_sizes(kOp, padding_policy, padding_sizes);
  require_option(
      !count_includes_padding || pooling_type == PoolingType::Average, kOp,
      "count_includes_padding", "off: only average pooling counts", "on");
}

namespace layers {
namespace {

Padding padding_of(const PoolingDescriptor& descriptor, const Shape& shape) {
  Padding result{};
  for (int axis = 0; axis < 2; ++axis) {
    const AxisWindow window{.kernel = descriptor.kernel_sizes[axis],
                            .stride = descriptor.strides[axis],
                            .dilation = descriptor.dilation_rates[axis]};
    const AxisPadding padding =
        resolve_padding(descriptor.padding_policy, shape[2 + axis], window,
                        descriptor.padding_sizes[axis]);
    result[2 * axis] = padding.before;
    result[2 * axis + 1] = padding.after;
  }
  return result;
}

AveragePool2dAttrs average_attrs(const PoolingDescriptor& descriptor,
                                 const Padding& padding,
                                 bool count_includes_padding) {
  return {.kernel_sizes = descriptor.kernel_sizes,
          .strides = descriptor.strides,
          .dilation_rates = descriptor.dilation_rates,
          .padding = padding,
          .count_includes_padding = count_includes_padding};
}

/// The root of the sum of squares. sqrt has no derivative at 0, so zeros go
/// through it as ones and are put back, which makes their gradient 0.
ValueId l2_norm(LayerBuilder& builder, const PoolingDescriptor& descriptor,
                const Padding& padding) {
  const ValueId x = builder.source(0);
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
  const auto count = static_cast<float>(descriptor.kernel_sizes[0] *
                                        descriptor.kernel_sizes[1]);
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

Pair strides_of(Pair strides, Pair kernel_sizes) {
  for (int axis = 0; axis < 2; ++axis) {
    if (strides[axis] == 0) strides[axis] = kernel_sizes[axis];
  }
  return strides;
}

PoolingDescriptor describe(PoolingType type, Pair kernel_sizes, Pair strides,
                           PaddingPolicy policy, Pair padding_sizes,
                           bool count_includes_padding = false) {
  return {.pooling_type = type,
          .kernel_sizes = kernel_sizes,
          .strides = strides_of(strides, kernel_sizes),
          .dilation_rates = {1, 1},
          .padding_policy = policy,
          .padding_sizes = padding_sizes,
          .count_includes_padding = count_includes_padding};
}

}  // namespace

Pooling::Pooling(PoolingDescriptor descriptor) : Pooling(descriptor, kOp) {}

Pooling::Pooling(PoolingDescriptor descriptor, const char* label)
    : Layer(label), descriptor_(descriptor) {
  descriptor_.validate();
}

void Pooling::lower(LayerBuilder& builder) const {
  builder.require_sources(1, 1);
  const ValueId x = builder.source(0);
  const Shape shape = builder.shape(x);
  if (shape.rank() != 4) {
    throw ShapeError({.op = "node",
                      .node = builder.name(),
                      .what = "the source does not fit the layer",
                      .expected = "(N, C, H, W)",
                      .got = shape.to_string(),
                      .hint = {}});
  }
  const Padding padding = padding_of(descriptor_, shape);
  switch (descriptor_.pooling_type) {
    case PoolingType::Max:
      return builder.add_result(builder.append(
          OpKind::MaxPool2d,
          Pool2dAttrs{.kernel_sizes = descriptor_.kernel_sizes,
                      .strides = descriptor_.strides,
                      .dilation_rates = descriptor_.dilation_rates,
                      .padding = padding},
          {x}));
    case PoolingType::Average:
      return builder.add_result(
          builder.append(OpKind::AveragePool2d,
                         average_attrs(descriptor_, padding,
                                       descriptor_.count_includes_padding),
                         {x}));
    case PoolingType::L2Norm:
      return builder.add_result(l2_norm(builder, descriptor_, padding));
  }
}

MaxPooling::MaxPooling(std::int64_t kernel_size, std::int64_t stride,
                       PaddingPolicy policy)
    : MaxPooling(Pair{kernel_size, kernel_size}, Pair{stride, stride}, policy) {
}

MaxPooling::MaxPooling(Pair kernel_sizes, Pair strides, PaddingPolicy policy,
                       Pair padding_sizes)
    : Pooling(describe(PoolingType::Max, kernel_sizes, strides, policy,
                       padding_sizes),
              "MaxPooling") {}

AveragePooling::AveragePooling(std::int64_t kernel_size, std::int64_t stride,
                               PaddingPolicy policy,
                               bool count_includes_padding)
    : AveragePooling(Pair{kernel_size, kernel_size}, Pair{stride, stride},
                     policy, Pair{}, count_includes_padding) {}

AveragePooling::AveragePooling(Pair kernel_sizes, Pair strides,
                               PaddingPolicy policy, Pair padding_sizes,
                               bool count_includes_padding)
    : Pooling(describe(PoolingType::Average, kernel_sizes, strides, policy,
                       padding_sizes, count_includes_padding),
              "AveragePooling") {}

L2NormPooling::L2NormPooling(std::int64_t kernel_size, std::int64_t stride,
                             PaddingPolicy policy)
    : L2NormPooling(Pair{kernel_size, kernel_size}, Pair{stride, stride},
                    policy) {}

L2NormPooling::L2NormPooling(Pair kernel_sizes, Pair strides,
                             PaddingPolicy policy, Pair padding_sizes)
    : Pooling(describe(PoolingType::L2Norm, kernel_sizes, strides, policy,
                       padding_sizes),
              "L2NormPooling") {}

}  // namespace layers
}  // namespace traingraph
