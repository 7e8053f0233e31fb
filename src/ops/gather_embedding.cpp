// SPDX-License-Identifier: MIT
// embedding and its gradient: rows of weights by indices of any shape. Rows are
// along the last axis, (count, dimension) or (1, count, 1, dimension). A
// maximum norm changes the rows that are looked up where they are stored,
// before they are read; no gradient passes that change.
#include <cmath>
#include <string>

#include "base/format.h"
#include "ops/batch_rules.h"
#include "ops/flops.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"

namespace traingraph {
namespace {

constexpr int kEmbeddingIndices = 1;

std::int64_t num_rows(const Shape& weights) {
  return weights.num_elements() / weights.back();
}

void require_padding_index(const ShapeContext& ctx, std::int64_t index,
                           std::int64_t count) {
  ctx.require_attribute(index >= -1 && index < count,
                        "padding_index is no row of the weights",
                        "-1 for none, or 0 to " + std::to_string(count - 1),
                        std::to_string(index));
}

void embedding_shape(ShapeContext& ctx) {
  const auto& attrs = ctx.attrs<EmbeddingAttrs>();
  ctx.require_rank_at_least(0, 2);
  require_padding_index(ctx, attrs.padding_index, num_rows(ctx.shape(0)));
  ctx.require_attribute(
      std::isfinite(attrs.maximum_norm) && attrs.maximum_norm >= 0,
      "maximum_norm out of range", "0 for none, or a finite number above it",
      format_value(attrs.maximum_norm));
  ctx.require_attribute(attrs.p_norm > 0, "p_norm out of range",
                        "a number above 0, or infinity",
                        format_value(attrs.p_norm));
  ctx.require_attribute(
      attrs.maximum_norm > 0 || attrs.p_norm == 2, "p_norm is out of range",
      "2: without a maximum_norm nothing uses it", format_value(attrs.p_norm));
  Shape result = ctx.shape(kEmbeddingIndices);
  result.push_back(ctx.shape(0).back());
  ctx.add_result(result, ctx.data_type(0));
}

void embedding_batch(BatchContext& ctx) {
  if (ctx.axis(0)) {
    ctx.refuse(ctx.describe(0) + " must not vary with the batch");
  }
  ctx.set(0, ctx.axis(kEmbeddingIndices));
}

std::int64_t embedding_positions(const Program& program, const Node& node) {
  return num_rows(program.shape(node.inputs[0]));
}

void embedding_rule(GradContext& ctx) {
  if (!ctx.wants(0)) return;
  const auto& attrs = ctx.attrs<EmbeddingAttrs>();
  const EmbeddingGradientAttrs backward{
      .padding_index = attrs.padding_index,
      .scales_gradient_by_frequency = attrs.scales_gradient_by_frequency,
      .shape = grad::shape_of(ctx, ctx.input(0))};
  ctx.set(0, ctx.append(OpKind::EmbeddingGradient, backward,
                        {ctx.result_gradient(), ctx.input(kEmbeddingIndices)}));
}

void embedding_gradient_shape(ShapeContext& ctx) {
  const auto& attrs = ctx.attrs<EmbeddingGradientAttrs>();
  require_sizes(ctx, "shape", attrs.shape);
  ctx.require_attribute(attrs.shape.rank() >= 2, "shape is not that of weights",
                        "(count, dimension)", attrs.shape.to_string());
  require_padding_index(ctx, attrs.padding_index, num_rows(attrs.shape));
  Shape expected = ctx.shape(kEmbeddingIndices);
  expected.push_back(attrs.shape.back());
  ctx.require_shape(0, expected);
  ctx.add_result(attrs.shape, ctx.data_type(0));
}

/// A sum over all rows that were looked up.
void embedding_gradient_batch(BatchContext& ctx) {
  const int last = ctx.shape(0).rank() - 1;
  if (ctx.axis(0).axis == last) batch::refuse_axis(ctx, last);
  batch::join(
      ctx, {{.input = 0, .axes = batch::axes_in_order(last + 1)},
            {.input = kEmbeddingIndices, .axes = batch::axes_in_order(last)}});
}

std::int64_t embedding_gradient_positions(const Program&, const Node& node) {
  return num_rows(std::get<EmbeddingGradientAttrs>(node.attrs).shape);
}

/// Norms of the rows that are looked up.
double embedding_flops(const Program& program, const Node& node) {
  if (std::get<EmbeddingAttrs>(node.attrs).maximum_norm <= 0) return 0;
  return flops::kPerElement * flops::elements(program, node.outputs[0]);
}

}  // namespace

OpDef define_embedding() {
  return {.inputs = {{.name = "weights", .is_mutated = true, .is_picked = true},
                     {.name = "indices", .types = kIndex, .is_index = true}},
          .results = {"y"},
          .shape_rule = embedding_shape,
          .flops = embedding_flops,
          .batch_rule = embedding_batch,
          .gradient_rule = embedding_rule,
          .num_positions = embedding_positions,
          .inference_form =
              [](Attributes& attrs) {
                std::get<EmbeddingAttrs>(attrs).training = false;
              },
          .mutates =
              [](const Attributes& attrs) {
                const auto& embedding = std::get<EmbeddingAttrs>(attrs);
                return embedding.training && embedding.maximum_norm > 0;
              }};
}

OpDef define_embedding_gradient() {
  return {.inputs = {{"gradient"},
                     {.name = "indices", .types = kIndex, .is_index = true}},
          .results = {"dweights"},
          .shape_rule = embedding_gradient_shape,
          .flops = flops::per_element,
          .batch_rule = embedding_gradient_batch,
          .no_gradient = NoGradient::Missing,
          .num_positions = embedding_gradient_positions};
}

}  // namespace traingraph
