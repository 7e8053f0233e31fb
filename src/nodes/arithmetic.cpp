// SPDX-License-Identifier: MIT
// Arithmetic of two images, softmax and dropout.
#include <array>

#include "layers/validate.h"
#include "nodes/filter_builder.h"
#include "traingraph/error.h"
#include "traingraph/nodes/filters.h"

namespace traingraph::nodes {
namespace {

using Strides = std::array<std::int64_t, 3>;
constexpr const char* kImageAxes[] = {"channels", "height", "width"};

std::array<std::int64_t, 3> sizes_of(const ImageNode& image) {
  const auto& [channels, height, width] = image.size();
  return {channels, height, width};
}

void require_strides(const char* op, const char* field,
                     const Strides& strides) {
  for (const std::int64_t stride : strides) {
    require_option(stride == 0 || stride == 1, op, field, "0 or 1 per axis",
                   Shape(strides).to_string());
  }
}

class ArithmeticState : public FilterState {
 public:
  ArithmeticState(const char* class_name, ArithmeticOperation operation,
                  const ImageNode& left, const ImageNode& right,
                  const ArithmeticOptions& options)
      : FilterState(class_name, {left, right}),
        operation_(operation),
        options_(options) {
    const char* op = class_name;
    require_finite(op, "primary_scale", options.primary_scale);
    require_finite(op, "secondary_scale", options.secondary_scale);
    require_finite(op, "bias", options.bias);
    require_strides(op, "primary_strides", options.primary_strides);
    require_strides(op, "secondary_strides", options.secondary_strides);
    require_option(options.minimum_value <= options.maximum_value, op,
                   "minimum_value",
                   "at most " + format_value(options.maximum_value),
                   format_value(options.minimum_value));
    require_sizes();
  }

  GradientForm gradient_form() const override {
    return operation_ == ArithmeticOperation::Divide ? GradientForm::None
                                                     : GradientForm::EachSource;
  }
  const char* no_gradient() const override {
    return "Multiply by a PowerNode of c = -1, which has one.";
  }
  FilterAttributes attributes(const NodeProgram&) const override {
    return ArithmeticFilter{.operation = operation_, .options = options_};
  }

  ValueId lower(FilterBuilder& b) const override {
    const ValueId x = operand(b, 0, options_.primary_strides);
    const ValueId y = operand(b, 1, options_.secondary_strides);
    const ValueId z =
        b.linear(b.binary(operation_, b.linear(x, options_.primary_scale),
                          b.linear(y, options_.secondary_scale)),
                 1, options_.bias);
    const ArithmeticOptions unclamped;
    if (options_.minimum_value == unclamped.minimum_value &&
        options_.maximum_value == unclamped.maximum_value) {
      return z;
    }
    return b.activation(ActivationType::Clamp, z, options_.minimum_value,
                        options_.maximum_value);
  }

 private:
  void require_sizes() const {
    const auto left = sizes_of(sources[0]), right = sizes_of(sources[1]);
    for (int axis = 0; axis < 3; ++axis) {
      const bool is_read_whole = options_.primary_strides[axis] == 1 &&
                                 options_.secondary_strides[axis] == 1;
      if (!is_read_whole || left[axis] == right[axis]) continue;
      throw ShapeError(
          {.op = class_name,
           .node = {},
           .what = std::string("the sources differ in ") + kImageAxes[axis],
           .expected = sources[0].size().to_string(),
           .got = sources[1].size().to_string(),
           .hint = "A stride of 0 reads one element everywhere."});
    }
  }

  /// The source with one element on axes of stride 0.
  ValueId operand(FilterBuilder& b, int index, const Strides& strides) const {
    const ValueId x = b.source(index);
    const Shape shape = b.shape(x);
    SliceAttrs slice{.start = Shape::filled(4, 0), .end = shape, .stride = {}};
    for (int axis = 0; axis < 3; ++axis) {
      if (strides[axis] == 0) slice.end[1 + axis] = 1;
    }
    return slice.end == shape ? x : b.append(OpKind::Slice, slice, {x});
  }

  ArithmeticOperation operation_;
  ArithmeticOptions options_;
};

struct SoftMaxState : FilterState {
  SoftMaxState(const char* class_name, const ImageNode& source,
               SoftmaxOperation operation)
      : FilterState(class_name, {source}), operation(operation) {}
  FilterAttributes attributes(const NodeProgram&) const override {
    return SoftMaxFilter{.is_logarithm =
                             operation == SoftmaxOperation::LogSoftmax};
  }
  ValueId lower(FilterBuilder& b) const override {
    return b.append(OpKind::Softmax, SoftmaxAttrs{.operation = operation},
                    {b.source()});
  }
  SoftmaxOperation operation;
};

class DropoutState : public FilterState {
 public:
  DropoutState(const ImageNode& source, const DropoutOptions& options)
      : FilterState("DropoutNode", {source}), options_(options) {
    const float keep = options.keep_probability;
    require_option(keep > 0 && keep < 1, "DropoutNode", "keep_probability",
                   "in (0, 1)", format_value(keep),
                   "Leave the node out to keep everything.");
    require_strides("DropoutNode", "mask_strides", options.mask_strides);
  }
  FilterAttributes attributes(const NodeProgram&) const override {
    return DropoutFilter{options_};
  }
  ValueId lower(FilterBuilder& b) const override {
    const ValueId x = b.source();
    const DropoutAttrs attrs{.rate = 1 - options_.keep_probability,
                             .seed = options_.seed,
                             .stream = b.next_random_stream()};
    const auto drop = [&](ValueId value) {
      return b.append(OpKind::Dropout, attrs, {value, b.random_state()});
    };
    if (options_.mask_strides == Strides{1, 1, 1}) return drop(x);
    return b.binary(ArithmeticOperation::Multiply, x, drop(ones(b, x)));
  }

 private:
  /// One element on axes of stride 0.
  ValueId ones(FilterBuilder& b, ValueId x) const {
    SliceAttrs slice{
        .start = Shape::filled(4, 0), .end = b.shape(x), .stride = {}};
    for (int axis = 0; axis < 3; ++axis) {
      if (options_.mask_strides[axis] == 0) slice.end[1 + axis] = 1;
    }
    const ValueId first = b.append(OpKind::Slice, slice, {x});
    return b.linear(b.zeros_like(first), 1, 1);
  }
  DropoutOptions options_;
};

FilterNode arithmetic(const char* class_name, ArithmeticOperation operation,
                      const ImageNode& left, const ImageNode& right,
                      const ArithmeticOptions& options) {
  return FilterNode(make_filter<ArithmeticState>(class_name, operation, left,
                                                 right, options));
}

}  // namespace

AdditionNode::AdditionNode(const ImageNode& left, const ImageNode& right,
                           const ArithmeticOptions& options)
    : FilterNode(arithmetic("AdditionNode", ArithmeticOperation::Add, left,
                            right, options)) {}

SubtractionNode::SubtractionNode(const ImageNode& left, const ImageNode& right,
                                 const ArithmeticOptions& options)
    : FilterNode(arithmetic("SubtractionNode", ArithmeticOperation::Subtract,
                            left, right, options)) {}

MultiplicationNode::MultiplicationNode(const ImageNode& left,
                                       const ImageNode& right,
                                       const ArithmeticOptions& options)
    : FilterNode(arithmetic("MultiplicationNode", ArithmeticOperation::Multiply,
                            left, right, options)) {}

DivisionNode::DivisionNode(const ImageNode& left, const ImageNode& right,
                           const ArithmeticOptions& options)
    : FilterNode(arithmetic("DivisionNode", ArithmeticOperation::Divide, left,
                            right, options)) {}

SoftMaxNode::SoftMaxNode(const ImageNode& source)
    : FilterNode(make_filter<SoftMaxState>("SoftMaxNode", source,
                                           SoftmaxOperation::Softmax)) {}

LogSoftMaxNode::LogSoftMaxNode(const ImageNode& source)
    : FilterNode(make_filter<SoftMaxState>("LogSoftMaxNode", source,
                                           SoftmaxOperation::LogSoftmax)) {}

DropoutNode::DropoutNode(const ImageNode& source, const DropoutOptions& options)
    : FilterNode(make_filter<DropoutState>(source, options)) {}

}  // namespace traingraph::nodes
