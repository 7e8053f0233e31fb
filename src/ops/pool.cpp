// SPDX-License-Identifier: MIT
// max_pool_2d and average_pool_2d (NCHW) and their gradients. Max pooling
// hands its gradient op an opaque record of which sample won each window.
#include <string>

#include "ops/batch_rules.h"
#include "ops/flops.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"
#include "ops/window.h"

namespace traingraph {
namespace {

template <class Attrs>
Window2d window_of(const Attrs& attrs) {
  return {attrs.kernel_size, attrs.strides, attrs.dilation_rates,
          attrs.padding};
}

/// The shape of the pooled `x` (N, C, H, W).
Shape pooled_shape(const ShapeContext& ctx, const Window2d& window,
                   const Shape& x) {
  require_window(ctx, window);
  const Pair in{x[2], x[3]};
  const Pair out = require_windows_fit(ctx, window, in);
  for (int i = 0; i < 2; ++i) {
    const AxisPadding padding = window.axis_padding(i);
    if (!has_empty_window(in[i], window.axis(i), padding)) continue;
    ctx.fail_shape(
        std::string("a window of the ") + kAxisNames[i] + " reads only padding",
        "a sample of the input in every window",
        std::to_string(in[i]) + " samples padded by " +
            std::to_string(padding.before) + " and " +
            std::to_string(padding.after),
        "Use less padding or a smaller dilation rate.");
  }
  return {x[0], x[1], out[0], out[1]};
}

void max_pool_shape(ShapeContext& ctx) {
  ctx.require_rank(0, 4);
  ctx.add_result(
      pooled_shape(ctx, window_of(ctx.attrs<Pool2dAttrs>()), ctx.shape(0)),
      ctx.data_type(0));
  ctx.add_opaque_result();
}

void max_pool_gradient_shape(ShapeContext& ctx) {
  ctx.require_rank(1, 4);
  ctx.require_shape(
      0, pooled_shape(ctx, window_of(ctx.attrs<Pool2dAttrs>()), ctx.shape(1)));
  ctx.require_state(2, OpKind::MaxPool2d, ctx.attrs<Pool2dAttrs>(),
                    ctx.shape(1));
  ctx.add_result(ctx.shape(1), ctx.data_type(1));
}

void average_pool_shape(ShapeContext& ctx) {
  ctx.require_rank(0, 4);
  ctx.add_result(pooled_shape(ctx, window_of(ctx.attrs<AveragePool2dAttrs>()),
                              ctx.shape(0)),
                 ctx.data_type(0));
}

void average_pool_gradient_shape(ShapeContext& ctx) {
  const auto& attrs = ctx.attrs<AveragePool2dGradientAttrs>();
  ctx.require_attribute(attrs.shape.rank() == 4, "shape has the wrong rank",
                        "4 sizes (N, C, H, W)", attrs.shape.to_string());
  require_sizes(ctx, "shape", attrs.shape);
  ctx.require_shape(0, pooled_shape(ctx, window_of(attrs), attrs.shape));
  ctx.add_result(attrs.shape, ctx.data_type(0));
}

void max_pool_gradient_batch(BatchContext& ctx) {
  const BatchAxis joined = batch::join(
      ctx,
      {{.input = 0, .axes = {0, 1, 2, 3}}, {.input = 1, .axes = {0, 1, 2, 3}}});
  if (joined.axis > 1) batch::refuse_axis(ctx, joined.axis);
  ctx.set(0, joined);
}

void max_pool_gradient(GradContext& ctx) {
  const ValueId gradient = ctx.result_gradient(0);
  if (gradient == kNoValue) return;
  ctx.set(0, ctx.append(OpKind::MaxPool2dGradient, ctx.attrs<Pool2dAttrs>(),
                        {gradient, ctx.input(0), ctx.result(1)}));
}

void average_pool_gradient(GradContext& ctx) {
  const auto attrs = ctx.attrs<AveragePool2dAttrs>();
  const AveragePool2dGradientAttrs gradient_attrs{
      attrs.kernel_size,
      attrs.strides,
      attrs.dilation_rates,
      attrs.padding,
      attrs.count_includes_padding,
      grad::shape_of(ctx, ctx.input(0))};
  ctx.set(0, ctx.append(OpKind::AveragePool2dGradient, gradient_attrs,
                        {ctx.result_gradient()}));
}

void average_pool_gradient_gradient(GradContext& ctx) {
  const auto attrs = ctx.attrs<AveragePool2dGradientAttrs>();
  const AveragePool2dAttrs forward_attrs{attrs.kernel_size, attrs.strides,
                                         attrs.dilation_rates, attrs.padding,
                                         attrs.count_includes_padding};
  ctx.set(0, ctx.append(OpKind::AveragePool2d, forward_attrs,
                        {ctx.result_gradient()}));
}

template <class Attrs>
double pool_flops(const Program& program, const Node& node) {
  const Pair& kernel = std::get<Attrs>(node.attrs).kernel_size;
  return flops::elements(program, node.outputs[0]) *
         static_cast<double>(kernel[0]) * static_cast<double>(kernel[1]);
}

}  // namespace

OpDef define_max_pool_2d() {
  return {.inputs = {{"x"}},
          .results = {"y", "state"},
          .shape_rule = max_pool_shape,
          .flops = pool_flops<Pool2dAttrs>,
          .batch_rule = batch::follow_up_to<1>,
          .gradient_rule = max_pool_gradient};
}

OpDef define_max_pool_2d_gradient() {
  return {.inputs = {{"gradient"},
                     {"x"},
                     {.name = "state", .types = kAnyType, .is_opaque = true}},
          .results = {"dx"},
          .shape_rule = max_pool_gradient_shape,
          .flops = flops::per_element,
          .batch_rule = max_pool_gradient_batch,
          .no_gradient = NoGradient::Missing};
}

OpDef define_average_pool_2d() {
  return {.inputs = {{"x"}},
          .results = {"y"},
          .shape_rule = average_pool_shape,
          .flops = pool_flops<AveragePool2dAttrs>,
          .batch_rule = batch::follow_up_to<1>,
          .gradient_rule = average_pool_gradient};
}

OpDef define_average_pool_2d_gradient() {
  return {.inputs = {{"gradient"}},
          .results = {"dx"},
          .shape_rule = average_pool_gradient_shape,
          .flops = flops::per_element,
          .batch_rule = batch::follow_up_to<1>,
          .resize = batch::resize_shape<AveragePool2dGradientAttrs>,
          .gradient_rule = average_pool_gradient_gradient};
}

}  // namespace traingraph
