// SPDX-License-Identifier: MIT
// convolution_2d (cross-correlation, NCHW) and its two gradients. All three
// are linear in each input, so each one's gradient is made of the others. The
// input gradient is also the forward op of transposed convolution.
#include <string>

#include "ops/batch_rules.h"
#include "ops/flops.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"
#include "ops/window.h"

namespace traingraph {
namespace {

constexpr const char* kLayoutHint = "Check the data layout (NCHW).";
constexpr const char* kWeightsHint =
    "Weights are (output channels, input channels / groups, height, width).";

void require_groups(const ShapeContext& ctx, std::int64_t groups,
                    const char* axis, std::int64_t channels) {
  if (channels % groups == 0) return;
  ctx.fail_shape(std::string("groups does not divide the ") + axis,
                 "a multiple of " + std::to_string(groups),
                 std::to_string(channels));
}

/// The shape of the convolution of `x` with `weights`.
template <class Attrs>
Shape convolved_shape(const ShapeContext& ctx, const Attrs& attrs,
                      const Shape& x, const Shape& weights) {
  const Window2d window = window_of(attrs, weights);
  require_window(ctx, window);
  ctx.require_positive("groups", attrs.groups);
  require_groups(ctx, attrs.groups, "input channels", x[1]);
  require_groups(ctx, attrs.groups, "output channels", weights[0]);
  const std::int64_t channels = x[1] / attrs.groups;
  if (channels != weights[1]) {
    const std::string per_group =
        attrs.groups == 1
            ? ""
            : " in each of " + std::to_string(attrs.groups) + " groups";
    ctx.fail_shape("input channels do not match weights " + weights.to_string(),
                   std::to_string(weights[1]) + per_group,
                   std::to_string(channels),
                   std::string(kLayoutHint) + " " + kWeightsHint);
  }
  const Pair out = require_windows_fit(ctx, window, {x[2], x[3]});
  return {x[0], weights[0], out[0], out[1]};
}

/// Checks that attribute `shape` describes an image or weights.
void require_shape_attribute(const ShapeContext& ctx, const Shape& shape,
                             const char* meaning) {
  ctx.require_attribute(shape.rank() == 4, "shape has the wrong rank",
                        std::string("4 sizes ") + meaning, shape.to_string());
  require_sizes(ctx, "shape", shape);
}

void convolution_shape(ShapeContext& ctx) {
  ctx.require_rank(0, 4);
  ctx.require_rank(1, 4);
  const auto& attrs = ctx.attrs<Convolution2dAttrs>();
  const Shape result = convolved_shape(ctx, attrs, ctx.shape(0), ctx.shape(1));
  if (ctx.has(2)) ctx.require_shape(2, {result[1]});
  ctx.add_result(result, ctx.data_type(0));
}

void input_gradient_shape(ShapeContext& ctx) {
  ctx.require_rank(0, 4);
  ctx.require_rank(1, 4);
  const auto& attrs = ctx.attrs<Convolution2dGradientAttrs>();
  require_shape_attribute(ctx, attrs.shape, "(N, C, H, W)");
  ctx.require_shape(0, convolved_shape(ctx, attrs, attrs.shape, ctx.shape(1)));
  ctx.add_result(attrs.shape, ctx.data_type(0));
}

void weights_gradient_shape(ShapeContext& ctx) {
  ctx.require_rank(0, 4);
  ctx.require_rank(1, 4);
  const auto& attrs = ctx.attrs<Convolution2dGradientAttrs>();
  require_shape_attribute(ctx, attrs.shape, "(O, I / groups, H, W)");
  ctx.require_shape(0, convolved_shape(ctx, attrs, ctx.shape(1), attrs.shape));
  ctx.add_result(attrs.shape, ctx.data_type(0));
}

/// It sums over the samples: no axis of the result follows the batch.
void weights_gradient_batch(BatchContext& ctx) {
  for (int input = 0; input < 2; ++input) {
    if (ctx.axis(input).axis > 0) batch::refuse_axis(ctx, ctx.axis(input).axis);
  }
  batch::join(ctx, {{.input = 0, .axes = {0, 1, 2, 3}},
                    {.input = 1, .axes = {0, 4, 5, 6}}});
}

Convolution2dAttrs forward_attrs(const Convolution2dGradientAttrs& attrs) {
  return {attrs.strides, attrs.dilation_rates, attrs.padding, attrs.groups};
}

template <class Attrs>
Convolution2dGradientAttrs gradient_attrs(const Attrs& attrs,
                                          const Shape& shape) {
  return {attrs.strides, attrs.dilation_rates, attrs.padding, attrs.groups,
          shape};
}

void convolution_gradient(GradContext& ctx) {
  const auto attrs = ctx.attrs<Convolution2dAttrs>();
  const ValueId x = ctx.input(0);
  const ValueId weights = ctx.input(1);
  const ValueId gradient = ctx.result_gradient();
  if (ctx.wants(0)) {
    ctx.set(0, ctx.append(OpKind::Convolution2dInputGradient,
                          gradient_attrs(attrs, grad::shape_of(ctx, x)),
                          {gradient, weights}));
  }
  if (ctx.wants(1)) {
    ctx.set(1, ctx.append(OpKind::Convolution2dWeightsGradient,
                          gradient_attrs(attrs, grad::shape_of(ctx, weights)),
                          {gradient, x}));
  }
  if (ctx.has(2) && ctx.wants(2)) {
    const Shape bias = grad::shape_of(ctx, ctx.input(2));
    const ValueId sum =
        grad::reduce(ctx, ReductionType::Sum, gradient, {0, 2, 3});
    ctx.set(2, grad::reshape(ctx, sum, bias));
  }
}

// <H, dx(G, W)> = <conv(H, W), G> = <dw(G, H), W>
void input_gradient_gradient(GradContext& ctx) {
  const auto attrs = ctx.attrs<Convolution2dGradientAttrs>();
  const ValueId gradient = ctx.input(0);
  const ValueId weights = ctx.input(1);
  const ValueId incoming = ctx.result_gradient();
  if (ctx.wants(0)) {
    ctx.set(0, ctx.append(OpKind::Convolution2d, forward_attrs(attrs),
                          {incoming, weights}));
  }
  if (ctx.wants(1)) {
    ctx.set(1, ctx.append(OpKind::Convolution2dWeightsGradient,
                          gradient_attrs(attrs, grad::shape_of(ctx, weights)),
                          {gradient, incoming}));
  }
}

// <H, dw(G, X)> = <conv(X, H), G> = <dx(G, H), X>
void weights_gradient_gradient(GradContext& ctx) {
  const auto attrs = ctx.attrs<Convolution2dGradientAttrs>();
  const ValueId gradient = ctx.input(0);
  const ValueId x = ctx.input(1);
  const ValueId incoming = ctx.result_gradient();
  if (ctx.wants(0)) {
    ctx.set(0, ctx.append(OpKind::Convolution2d, forward_attrs(attrs),
                          {x, incoming}));
  }
  if (ctx.wants(1)) {
    ctx.set(1, ctx.append(OpKind::Convolution2dInputGradient,
                          gradient_attrs(attrs, grad::shape_of(ctx, x)),
                          {gradient, incoming}));
  }
}

/// A product for each element of the convolution's result and of what it
/// multiplies with: weights (O, I / groups, height, width).
double convolution_flops(const Program& program, ValueId result,
                         ValueId weights) {
  const Shape& shape = program.shape(weights);
  return 2 * flops::elements(program, result) * flops::elements(shape) /
         static_cast<double>(shape[0]);
}

double convolution_flops(const Program& program, const Node& node) {
  return convolution_flops(program, node.outputs[0], node.inputs[1]);
}

double input_gradient_flops(const Program& program, const Node& node) {
  return convolution_flops(program, node.inputs[0], node.inputs[1]);
}

double weights_gradient_flops(const Program& program, const Node& node) {
  return convolution_flops(program, node.inputs[0], node.outputs[0]);
}

}  // namespace

OpDef define_convolution_2d() {
  return {.inputs = {{"x"}, {"weights"}, {"bias", kFloat, true}},
          .results = {"y"},
          .shape_rule = convolution_shape,
          .flops = convolution_flops,
          .batch_rule = batch::follow_up_to<0>,
          .gradient_rule = convolution_gradient,
          .autocast_list = AutocastList::LowPrecision};
}

OpDef define_convolution_2d_input_gradient() {
  return {.inputs = {{"gradient"}, {"weights"}},
          .results = {"dx"},
          .shape_rule = input_gradient_shape,
          .flops = input_gradient_flops,
          .batch_rule = batch::follow_up_to<0>,
          .resize = batch::resize_shape<Convolution2dGradientAttrs>,
          .gradient_rule = input_gradient_gradient,
          .autocast_list = AutocastList::LowPrecision};
}

OpDef define_convolution_2d_weights_gradient() {
  return {.inputs = {{"gradient"}, {"x"}},
          .results = {"dweights"},
          .shape_rule = weights_gradient_shape,
          .flops = weights_gradient_flops,
          .batch_rule = weights_gradient_batch,
          .gradient_rule = weights_gradient_gradient,
          .autocast_list = AutocastList::LowPrecision};
}

}  // namespace traingraph
