// SPDX-License-Identifier: MIT
// Scaled dot-product attention of several heads, and its gradient. Queries are
// (N, L, heads * D), keys (N, S, heads * D), values (N, S, heads * V); head h
// has the columns from h * D and h * V. Of each sample and head:
//   scores = scale q k^T + mask        (L, S); masked out: -infinity
//   log_sum = ln sum_s exp(scores)     (L)
//   output = dropout(exp(scores - log_sum)) v
// A query that sees no key has output 0 and log_sum -infinity. Next to large
// scores log_sum has few digits left for the logarithm; log_sum_rest is what
// its rounding took, or 0 where the device's gradient op does not read it. It
// is a difference that is 0 but for rounding, and so are its derivatives.
#include <cmath>
#include <string>

#include "base/format.h"
#include "formulas/run_time_scalars.h"
#include "ops/batch_rules.h"
#include "ops/flops.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"

namespace traingraph {
namespace {

/// Numbers of the inputs that both ops have.
struct Inputs {
  int query, key, value, key_mask, attention_mask, random_state;
};
constexpr Inputs kForward{0, 1, 2, 3, 4, 5};
constexpr Inputs kGradient{1, 2, 3, 6, 7, 8};
/// The gradient's others.
enum {
  kOutputGradient = 0,
  kOutput = 4,
  kLogSum = 5,
  kLogSumGradient = 9,
  kLogSumRest = 10
};

void require_attention_attrs(const ShapeContext& ctx) {
  const auto& attrs = ctx.attrs<AttentionAttrs>();
  ctx.require_positive("head_count", attrs.head_count);
  ctx.require_attribute(std::isfinite(attrs.scale) && attrs.scale >= 0,
                        "scale out of range",
                        "a finite number above 0, or 0 for the default",
                        format_value(attrs.scale));
  ctx.require_attribute(attrs.dropout >= 0 && attrs.dropout < 1,
                        "dropout is not a probability",
                        "at least 0 and below 1", format_value(attrs.dropout));
  const bool drops = attrs.dropout != 0;
  ctx.require_attribute(drops || attrs.seed == 0, "seed belongs to dropout",
                        "0 without dropout", format_value(attrs.seed));
  ctx.require_attribute(drops || attrs.stream == 0, "stream belongs to dropout",
                        "0 without dropout", format_value(attrs.stream));
}

void require_heads(const ShapeContext& ctx, int input) {
  const std::int64_t heads = ctx.attrs<AttentionAttrs>().head_count;
  if (ctx.shape(input)[2] % heads == 0) return;
  ctx.fail_shape("the last axis of " + describe_input(ctx, input) +
                     " does not divide into heads",
                 "a multiple of head_count " + std::to_string(heads),
                 std::to_string(ctx.shape(input)[2]));
}

void require_masks(const ShapeContext& ctx, const Inputs& in) {
  const auto& attrs = ctx.attrs<AttentionAttrs>();
  const Shape &query = ctx.shape(in.query), &key = ctx.shape(in.key);
  if (ctx.has(in.key_mask)) {
    ctx.require_shape(in.key_mask, Shape{key[0], key[1]});
  }
  if (ctx.has(in.attention_mask)) {
    if (ctx.data_type(in.attention_mask) != DataType::Boolean) {
      ctx.require_same_data_type(in.attention_mask, in.query);
    }
    const Shape for_all{1, query[1], key[1]};
    const Shape for_each{query[0] * attrs.head_count, query[1], key[1]};
    const Shape& mask = ctx.shape(in.attention_mask);
    if (mask != for_all && mask != for_each) {
      ctx.fail_shape("the attention mask does not fit queries and keys",
                     for_all.to_string() + ", or " + for_each.to_string() +
                         " with one for each sample and head",
                     mask.to_string());
    }
  }
  ctx.require_attribute(attrs.dropout == 0 || ctx.has(in.random_state),
                        "dropout needs random numbers",
                        "an input \"random_state\"", "none");
  if (ctx.has(in.random_state)) {
    ctx.require_shape(in.random_state,
                      Shape{formulas::num_entries<formulas::RandomState>()});
  }
}

/// (N, heads, L)
Shape rows_of(const ShapeContext& ctx, int query) {
  const Shape& shape = ctx.shape(query);
  return {shape[0], ctx.attrs<AttentionAttrs>().head_count, shape[1]};
}

/// (N, L, heads * V)
Shape output_of(const ShapeContext& ctx, const Inputs& in) {
  const Shape& query = ctx.shape(in.query);
  return {query[0], query[1], ctx.shape(in.value)[2]};
}

void require_sources(const ShapeContext& ctx, const Inputs& in) {
  require_attention_attrs(ctx);
  for (int input : {in.query, in.key, in.value}) ctx.require_rank(input, 3);
  const Shape &query = ctx.shape(in.query), &key = ctx.shape(in.key);
  ctx.require_shape(in.key, Shape{query[0], key[1], query[2]});
  ctx.require_shape(in.value, Shape{key[0], key[1], ctx.shape(in.value)[2]});
  for (int input : {in.key, in.value}) {
    ctx.require_same_data_type(input, in.query);
  }
  require_heads(ctx, in.query);
  require_heads(ctx, in.value);
  require_masks(ctx, in);
}

void attention_shape(ShapeContext& ctx) {
  require_sources(ctx, kForward);
  ctx.add_result(output_of(ctx, kForward), ctx.data_type(kForward.query));
  const Shape rows = rows_of(ctx, kForward.query);
  ctx.add_result(rows, DataType::Float32);
  ctx.add_result(rows, DataType::Float32);
}

void attention_gradient_shape(ShapeContext& ctx) {
  const Inputs& in = kGradient;
  require_sources(ctx, in);
  ctx.require_shape(kOutputGradient, output_of(ctx, in));
  ctx.require_same_shape(kOutput, kOutputGradient);
  const Shape rows = rows_of(ctx, in.query);
  ctx.require_shape(kLogSum, rows);
  for (int input : {kLogSumGradient, kLogSumRest}) {
    if (ctx.has(input)) ctx.require_shape(input, rows);
  }
  for (int input : {in.query, in.key, in.value}) {
    ctx.add_result(ctx.shape(input), ctx.data_type(input));
  }
  ctx.add_result(Shape{rows[0] * rows[1], rows[2], ctx.shape(in.key)[1]},
                 DataType::Float32);
}

/// All but an attention mask have the samples on axis 0; such a mask has them
/// there times the number of heads, or serves all.
BatchAxis join_samples(BatchContext& ctx, const Inputs& in) {
  std::vector<batch::Operand> operands;
  for (int input = 0; input < ctx.num_inputs(); ++input) {
    if (!ctx.has(input) || input == in.attention_mask) continue;
    if (input == in.random_state) continue;
    // None of the other axes is another's.
    Shape axes{0};
    while (axes.rank() < ctx.shape(input).rank()) {
      axes.push_back(3 * input + axes.rank());
    }
    operands.push_back({.input = input, .axes = axes});
  }
  BatchAxis joined = batch::join(ctx, operands);
  if (joined.axis > 0) {
    for (const batch::Operand& operand : operands) {
      if (ctx.axis(operand.input).axis > 0) {
        batch::refuse_axis(ctx, ctx.axis(operand.input).axis);
      }
    }
  }
  return joined;
}

BatchAxis per_head(BatchAxis samples, std::int64_t heads) {
  return {samples.axis, samples.factor * heads, samples.step * heads};
}

void require_mask_follows(BatchContext& ctx, int mask,
                          const BatchAxis& samples) {
  if (!ctx.has(mask)) return;
  const BatchAxis& own = ctx.axis(mask);
  if (!own && (!samples || ctx.shape(mask)[0] == 1)) return;
  const BatchAxis expected =
      per_head(samples, ctx.attrs<AttentionAttrs>().head_count);
  const bool has_other_order =
      own.step != 0 && expected.step != 0 && own.step != expected.step;
  if (own && own.axis == 0 && samples && own.factor == expected.factor &&
      !has_other_order) {
    return;
  }
  ctx.refuse(ctx.describe(mask) +
                 " does not vary with the batch as the queries "
                 "do, times the heads",
             "Declare it with batch axis 0, or give one mask for all.");
}

void attention_batch(BatchContext& ctx) {
  const BatchAxis samples = join_samples(ctx, kForward);
  require_mask_follows(ctx, kForward.attention_mask, samples);
  for (int result = 0; result < 3; ++result) ctx.set(result, samples);
}

void attention_gradient_batch(BatchContext& ctx) {
  const BatchAxis samples = join_samples(ctx, kGradient);
  require_mask_follows(ctx, kGradient.attention_mask, samples);
  for (int result = 0; result < 3; ++result) ctx.set(result, samples);
  if (!samples) return;
  ctx.set(3, per_head(samples, ctx.attrs<AttentionAttrs>().head_count));
}

void attention_rule(GradContext& ctx) {
  const Inputs& in = kForward;
  const auto attrs = ctx.attrs<AttentionAttrs>();
  const auto optional = [&](int input) {
    const bool has = input < static_cast<int>(ctx.node().inputs.size());
    return has ? ctx.input(input) : kNoValue;
  };
  const ValueId query = ctx.input(in.query), key = ctx.input(in.key),
                value = ctx.input(in.value), output = ctx.result(0),
                log_sum = ctx.result(1), rest = ctx.result(2),
                key_mask = optional(in.key_mask),
                mask = optional(in.attention_mask),
                random_state = optional(in.random_state);
  ValueId gradient = ctx.result_gradient(0);
  if (gradient == kNoValue) gradient = grad::fill_like(ctx, output, 0);
  const auto results = ctx.program().append(
      OpKind::AttentionGradient, attrs,
      {gradient, query, key, value, output, log_sum, key_mask, mask,
       random_state, ctx.result_gradient(1), rest});
  for (int input = 0; input < 3; ++input) {
    if (ctx.wants(input)) ctx.set(input, results[input]);
  }
  if (mask == kNoValue || !ctx.wants(in.attention_mask)) return;
  const DataType type = grad::type_of(ctx, mask);
  if (!is_float(type)) return;
  const ValueId full = grad::sum_to(ctx, results[3], grad::shape_of(ctx, mask));
  ctx.set(in.attention_mask, grad::cast(ctx, full, type));
}

/// Scores and their product with the values.
double attention_flops(const Program& program, const Node& node) {
  const auto size = [&](int input, int axis) {
    return static_cast<double>(program.shape(node.inputs[input])[axis]);
  };
  return flops::elements(program, node.outputs[0]) * 2 * size(kForward.key, 1) *
         (1 + size(kForward.query, 2) / size(kForward.value, 2));
}

/// It computes the scores again, and has two products for each of the forward
/// op's.
double attention_gradient_flops(const Program& program, const Node& node) {
  const auto size = [&](int input, int axis) {
    return static_cast<double>(program.shape(node.inputs[input])[axis]);
  };
  return flops::elements(program, node.outputs[0]) * 2 *
         size(kGradient.key, 1) *
         (3 + 2 * size(kGradient.value, 2) / size(kGradient.query, 2));
}

}  // namespace

OpDef define_attention() {
  return {.inputs = {{"query"},
                     {"key"},
                     {"value"},
                     {"key_mask", kBoolean, true},
                     {"attention_mask", kFloat | kBoolean, true},
                     {"random_state", kInt32, true}},
          .results = {"output", "log_sum", "log_sum_rest"},
          .shape_rule = attention_shape,
          .flops = attention_flops,
          .batch_rule = attention_batch,
          .gradient_rule = attention_rule,
          .autocast_list = AutocastList::LowPrecision,
          .inference_form = [](Attributes& attrs) {
            auto& attention = std::get<AttentionAttrs>(attrs);
            attention.dropout = 0;
            attention.seed = attention.stream = 0;
          }};
}

OpDef define_attention_gradient() {
  return {.inputs = {{"gradient"},
                     {"query"},
                     {"key"},
                     {"value"},
                     {"output"},
                     {"log_sum", kFloat32},
                     {"key_mask", kBoolean, true},
                     {"attention_mask", kFloat | kBoolean, true},
                     {"random_state", kInt32, true},
                     {"log_sum_gradient", kFloat32, true},
                     {"log_sum_rest", kFloat32, true}},
          .results = {"dquery", "dkey", "dvalue", "dmask"},
          .shape_rule = attention_gradient_shape,
          .flops = attention_gradient_flops,
          .batch_rule = attention_gradient_batch,
          .no_gradient = NoGradient::Missing};
}

}  // namespace traingraph
