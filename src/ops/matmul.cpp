// SPDX-License-Identifier: MIT
// Matrix product over the last two axes; leading axes broadcast.
#include "ops/batch_rules.h"
#include "ops/flops.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"

namespace traingraph {
namespace {

Shape leading_axes(const Shape& shape) {
  return Shape(std::span(shape.begin(), shape.end() - 2));
}

/// Size of the second to last (0) or last (1) axis of op(x).
std::int64_t matrix_size(const Shape& shape, bool transposes, int axis) {
  return shape[shape.rank() - 2 + (transposes ? 1 - axis : axis)];
}

void matmul_shape(ShapeContext& ctx) {
  const auto& attrs = ctx.attrs<MatMulAttrs>();
  ctx.require_rank_at_least(0, 2);
  ctx.require_rank_at_least(1, 2);
  const Shape& x = ctx.shape(0);
  const Shape& y = ctx.shape(1);
  const std::int64_t inner = matrix_size(x, attrs.transposes_x, 1);
  const std::int64_t other = matrix_size(y, attrs.transposes_y, 0);
  if (inner != other) {
    ctx.fail_shape("the inner sizes of " + describe_input(ctx, 0) + " and " +
                       describe_input(ctx, 1) + " differ",
                   std::to_string(inner), std::to_string(other),
                   "Check transposes_x and transposes_y.");
  }
  const auto batch = broadcast_shapes(leading_axes(x), leading_axes(y));
  if (!batch) {
    ctx.fail_shape("leading axes do not broadcast",
                   "sizes that are equal or 1, from the third axis of the end",
                   describe_input(ctx, 0) + " and " + describe_input(ctx, 1));
  }
  Shape result = *batch;
  result.push_back(matrix_size(x, attrs.transposes_x, 0));
  result.push_back(matrix_size(y, attrs.transposes_y, 1));
  if (ctx.has(2)) ctx.require_shape(2, Shape{result.back()});
  ctx.add_result(result, ctx.data_type(0));
}

/// (..., M, K) and (..., K, N): K is no axis of the result.
void matmul_batch(BatchContext& ctx) {
  const auto& attrs = ctx.attrs<MatMulAttrs>();
  const int rank = ctx.result_shape().rank();
  const int inner = rank;
  const auto operand = [&](int input, int row, int column, bool transposes) {
    batch::Operand result = batch::aligned(ctx, input, rank);
    const int own = result.axes.rank();
    result.axes[own - 2] = transposes ? column : row;
    result.axes[own - 1] = transposes ? row : column;
    return result;
  };
  std::vector<batch::Operand> operands{
      operand(0, rank - 2, inner, attrs.transposes_x),
      operand(1, inner, rank - 1, attrs.transposes_y)};
  if (ctx.has(2)) operands.push_back({.input = 2, .axes = {rank - 1}});
  const BatchAxis joined = batch::join(ctx, operands);
  if (joined.axis != inner) ctx.set(0, joined);
}

ValueId product(GradContext& ctx, float alpha, ValueId x, bool transposes_x,
                ValueId y, bool transposes_y) {
  return ctx.append(OpKind::MatMul,
                    MatMulAttrs{alpha, transposes_x, transposes_y}, {x, y});
}

/// All leading axes and the rows as one axis: (..., M, N) -> (R, N).
ValueId as_rows(GradContext& ctx, ValueId x) {
  const Shape shape = grad::shape_of(ctx, x);
  if (shape.rank() == 2) return x;
  const std::int64_t columns = shape.back();
  return grad::reshape(ctx, x, Shape{shape.num_elements() / columns, columns});
}

/// d x: g * op(y)^T, or its transpose.
ValueId first_gradient(GradContext& ctx, const MatMulAttrs& attrs, ValueId g,
                       ValueId y) {
  if (attrs.transposes_x) {
    return product(ctx, attrs.alpha, y, attrs.transposes_y, g, true);
  }
  return product(ctx, attrs.alpha, g, false, y, !attrs.transposes_y);
}

/// d y: op(x)^T * g, or its transpose.
ValueId second_gradient(GradContext& ctx, const MatMulAttrs& attrs, ValueId g,
                        ValueId x, const Shape& y) {
  // One matrix for the whole batch: sum over the batch inside one product
  // rather than over a product per batch element.
  if (!attrs.transposes_x && leading_axes(y).num_elements() == 1) {
    x = as_rows(ctx, x);
    g = as_rows(ctx, g);
  }
  if (attrs.transposes_y) {
    return product(ctx, attrs.alpha, g, true, x, attrs.transposes_x);
  }
  return product(ctx, attrs.alpha, x, !attrs.transposes_x, g, false);
}

void matmul_rule(GradContext& ctx) {
  const auto attrs = ctx.attrs<MatMulAttrs>();
  const ValueId g = ctx.result_gradient();
  const bool has_bias = ctx.has(2);
  const ValueId x = ctx.input(0);
  const ValueId y = ctx.input(1);
  const Shape x_shape = grad::shape_of(ctx, x);
  const Shape y_shape = grad::shape_of(ctx, y);
  if (ctx.wants(0)) {
    const ValueId full = first_gradient(ctx, attrs, g, y);
    ctx.set(0, grad::sum_to(ctx, full, x_shape));
  }
  if (ctx.wants(1)) {
    const ValueId full = second_gradient(ctx, attrs, g, x, y_shape);
    ctx.set(1, grad::sum_to(ctx, full, y_shape));
  }
  if (has_bias && ctx.wants(2)) {
    const std::int64_t columns = grad::shape_of(ctx, g).back();
    ctx.set(2, grad::sum_to(ctx, g, Shape{columns}));
  }
}

double matmul_flops(const Program& program, const Node& node) {
  const auto& attrs = std::get<MatMulAttrs>(node.attrs);
  const Shape& x = program.shape(node.inputs[0]);
  return 2 * flops::elements(program, node.outputs[0]) *
         static_cast<double>(matrix_size(x, attrs.transposes_x, 1));
}

}  // namespace

OpDef define_matmul() {
  return {.inputs = {{"x"}, {"y"}, {.name = "bias", .is_optional = true}},
          .results = {"z"},
          .shape_rule = matmul_shape,
          .flops = matmul_flops,
          .batch_rule = matmul_batch,
          .gradient_rule = matmul_rule,
          .autocast_list = AutocastList::LowPrecision};
}

}  // namespace traingraph
