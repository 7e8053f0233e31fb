// SPDX-License-Identifier: MIT
// upsample, which samples the last one or two axes of (N, C, W) or (N, C, H, W)
// at other positions (upsample_taps.h), and its adjoint. Each is the gradient
// of the other.
#include "ops/batch_rules.h"
#include "ops/flops.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"
#include "ops/window.h"

namespace traingraph {
namespace {

void require_sampling(const ShapeContext& ctx, const UpsampleAttrs& attrs) {
  ctx.require_attribute(to_string(attrs.sample_mode) != "?",
                        "sample_mode is no mode", "a case of SampleMode",
                        std::to_string(static_cast<int>(attrs.sample_mode)));
  const Shape& shape = attrs.shape;
  ctx.require_attribute(
      shape.rank() == 1 || shape.rank() == 2,
      "shape has the wrong number of extents", "1 (width) or 2 (height, width)",
      shape.to_string(),
      "For a volume, sample one of its axes after the other.");
  for (const std::int64_t extent : shape) {
    ctx.require_attribute(
        extent >= 1 && extent <= kMaxWindow, "shape out of range",
        "1 to " + std::to_string(kMaxWindow), shape.to_string());
  }
  ctx.require_attribute(
      attrs.sample_mode == SampleMode::Linear || !attrs.aligns_corners,
      "aligns_corners means nothing to nearest samples",
      "aligns_corners with linear sampling", "aligns_corners with nearest",
      "Leave it out, or sample linearly.");
}

/// Input 0 with `attrs.shape` for its last axes; samples and channels are in
/// front of them.
Shape resampled_shape(const ShapeContext& ctx, const UpsampleAttrs& attrs) {
  Shape shape = ctx.shape(0);
  const int rank = shape.rank(), num_sampled = attrs.shape.rank();
  if (rank > 4 || rank < 2 + num_sampled) {
    ctx.fail_shape(
        describe_input(ctx, 0) + " is no image",
        num_sampled == 1 ? "(N, C, W) or (N, C, H, W)" : "(N, C, H, W)",
        shape.to_string());
  }
  for (int i = 0; i < num_sampled; ++i) {
    std::int64_t& extent = shape[rank - num_sampled + i];
    if (extent > kMaxWindow) {
      ctx.fail_shape(describe_input(ctx, 0) + " is too large",
                     "at most " + std::to_string(kMaxWindow) +
                         " samples on a sampled axis",
                     std::to_string(extent));
    }
    extent = attrs.shape[i];
  }
  return shape;
}

void upsample_shape(ShapeContext& ctx) {
  const auto& attrs = ctx.attrs<UpsampleAttrs>();
  require_sampling(ctx, attrs);
  ctx.add_result(resampled_shape(ctx, attrs), ctx.data_type(0));
}

/// The other of the two ops, back to the extents of the input.
template <OpKind kOther>
void upsample_rule(GradContext& ctx) {
  if (!ctx.wants(0)) return;
  auto attrs = ctx.attrs<UpsampleAttrs>();
  const Shape shape = grad::shape_of(ctx, ctx.input(0));
  const int num_sampled = attrs.shape.rank();
  for (int i = 0; i < num_sampled; ++i) {
    attrs.shape[i] = shape[shape.rank() - num_sampled + i];
  }
  ctx.set(0, ctx.append(kOther, attrs, {ctx.result_gradient()}));
}

double upsample_flops(const Program& program, const Node& node) {
  const SampleMode mode = std::get<UpsampleAttrs>(node.attrs).sample_mode;
  return mode == SampleMode::Nearest ? 0 : flops::per_element(program, node);
}

}  // namespace

OpDef define_upsample() {
  return {.inputs = {{"x"}},
          .results = {"y"},
          .shape_rule = upsample_shape,
          .flops = upsample_flops,
          .batch_rule = batch::follow_up_to<1>,
          .gradient_rule = upsample_rule<OpKind::UpsampleGradient>};
}

OpDef define_upsample_gradient() {
  return {.inputs = {{"gradient"}},
          .results = {"dx"},
          .shape_rule = upsample_shape,
          .flops = flops::per_element,
          .batch_rule = batch::follow_up_to<1>,
          .gradient_rule = upsample_rule<OpKind::Upsample>};
}

}  // namespace traingraph
