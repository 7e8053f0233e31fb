// SPDX-License-Identifier: MIT
// Cases of attention and its gradient op: heads of equal and different widths,
// both masks in all their forms, dropout, and more queries and keys than tiles.
#include "ops/cases.h"

namespace traingraph::testing {
namespace {

enum class Mask { None, HardForAll, HardForEach, SoftForAll, SoftForEach };

struct Sizes {
  std::int64_t samples, heads, queries, keys, width, value_width;
};

struct Form {
  bool has_key_mask = false;
  Mask mask = Mask::None;
  float dropout = 0;
  float scale = 0;
  std::int64_t seed = 5, stream = 0;
};

/// Masks out what is true, but never the first key: a query that sees none has
/// no gradient by differences. attention_test.cpp has those.
Domain hard_mask() {
  return [](const Shape& shape, const RefTensors& earlier, Random& random) {
    RefTensor mask = booleans()(shape, earlier, random);
    const auto keys = static_cast<std::size_t>(shape.back());
    for (std::size_t i = 0; i < mask.data.size(); i += keys) mask.data[i] = 0;
    return mask;
  };
}

CaseInput hard(const Shape& shape) {
  return {shape, hard_mask(), DataType::Boolean};
}

std::vector<CaseInput> masks(const Sizes& s, const Form& form) {
  const Shape all{1, s.queries, s.keys};
  const Shape each{s.samples * s.heads, s.queries, s.keys};
  std::vector<CaseInput> inputs{absent(), absent(), absent()};
  if (form.has_key_mask) inputs[0] = hard({s.samples, s.keys});
  switch (form.mask) {
    case Mask::None:
      break;
    case Mask::HardForAll:
      inputs[1] = hard(all);
      break;
    case Mask::HardForEach:
      inputs[1] = hard(each);
      break;
    case Mask::SoftForAll:
      inputs[1] = {all, uniform(-2, 2)};
      break;
    case Mask::SoftForEach:
      inputs[1] = {each, uniform(-2, 2)};
      break;
  }
  if (form.dropout != 0) {
    inputs[2] = {{4}, values({7, -3, 2, 0}), DataType::Int32};
  }
  return inputs;
}

bool is_soft(Mask mask) {
  return mask == Mask::SoftForAll || mask == Mask::SoftForEach;
}

/// A result of the forward op for the gradient's inputs.
Domain forward_result(const AttentionAttrs& attrs, int result) {
  return derived([=](const RefTensors& earlier) {
    RefTensors in{earlier.at(1), earlier.at(2), earlier.at(3)};
    return evaluate(OpKind::Attention, attrs, in).at(result);
  });
}

void add(OpCases& cases, const Sizes& s, const Form& form = {}) {
  const AttentionAttrs attrs{.head_count = s.heads,
                             .scale = form.scale,
                             .dropout = form.dropout,
                             .seed = form.dropout != 0 ? form.seed : 0,
                             .stream = form.dropout != 0 ? form.stream : 0};
  const Shape query{s.samples, s.queries, s.heads * s.width};
  const Shape key{s.samples, s.keys, s.heads * s.width};
  const Shape value{s.samples, s.keys, s.heads * s.value_width};
  OpCase forward{
      .op = OpKind::Attention,
      .attrs = attrs,
      .inputs = {{query, uniform(-2, 2)}, {key, uniform(-2, 2)}, {value}},
      .gradients = {0, 1, 2},
      .tolerance = kTolerance,
      .max_differences = s.queries * s.keys > 200 ? 3 : 16};
  for (const CaseInput& input : masks(s, form)) forward.inputs.push_back(input);
  if (is_soft(form.mask)) forward.gradients.push_back(4);
  cases.push_back(forward);
}

/// The gradient op by itself, without masks: the forward cases have them. They
/// have the rest of log_sum, too.
void add_gradient(OpCases& cases, const Sizes& s, bool has_log_sum_gradient) {
  const AttentionAttrs attrs{.head_count = s.heads};
  const Shape query{s.samples, s.queries, s.heads * s.width};
  const Shape key{s.samples, s.keys, s.heads * s.width};
  const Shape value{s.samples, s.keys, s.heads * s.value_width};
  const Shape output{s.samples, s.queries, s.heads * s.value_width};
  const Shape rows{s.samples, s.heads, s.queries};
  OpCase gradient{.op = OpKind::AttentionGradient,
                  .attrs = attrs,
                  .inputs = {{output},
                             {query, uniform(-2, 2)},
                             {key, uniform(-2, 2)},
                             {value},
                             {output, forward_result(attrs, 0)},
                             {rows, forward_result(attrs, 1)}},
                  .tolerance = 4 * kTolerance,
                  .reason = "products of results that are rounded to float32"};
  if (has_log_sum_gradient) {
    for (int i = 0; i < 3; ++i) gradient.inputs.push_back(absent());
    gradient.inputs.push_back({rows});
  }
  cases.push_back(gradient);
}

}  // namespace

void add_attention_cases(OpCases& cases, Random& random) {
  const Sizes sizes[] = {{1, 1, 1, 1, 1, 1},   {2, 1, 3, 5, 4, 4},
                         {2, 3, 5, 2, 3, 7},   {1, 2, 17, 19, 16, 8},
                         {3, 2, 1, 9, 5, 1},   {2, 2, 9, 1, 2, 17},
                         {1, 1, 70, 33, 3, 2}, {1, 2, 2, 17, 33, 20}};
  for (const Sizes& s : sizes) {
    for (Mask mask : {Mask::None, Mask::HardForAll, Mask::HardForEach,
                      Mask::SoftForAll, Mask::SoftForEach}) {
      const bool has_key_mask = mask == Mask::None || s.heads > 1;
      add(cases, s, {.has_key_mask = has_key_mask, .mask = mask});
    }
    add(cases, s);
    add(cases, s, {.scale = 0.4f});
    add(cases, s, {.dropout = 0.3f});
    add(cases, s, {.mask = Mask::SoftForAll, .dropout = 0.6f, .seed = 0});
  }
  // More keys than a tile of the gradient or of the forward op has, whose last
  // one is not full; more queries too.
  add(cases, {1, 2, 3, 300, 2, 3});
  add(cases, {1, 1, 66, 515, 2, 1}, {.has_key_mask = true, .dropout = 0.2f});
  add(cases, {1, 1, 2, 1030, 3, 2}, {.mask = Mask::SoftForAll});
  for (int i = 0; i < 12; ++i) {
    const Sizes s{pick(random, 1, 3), pick(random, 1, 4), pick(random, 1, 9),
                  pick(random, 1, 9), pick(random, 1, 9), pick(random, 1, 9)};
    add(cases, s,
        {.has_key_mask = i % 2 == 0,
         .mask = static_cast<Mask>(pick(random, 0, 4)),
         .dropout = i % 3 == 0 ? 0.25f : 0,
         .scale = i % 4 == 0 ? 0.7f : 0,
         .stream = i});
  }
  for (bool has_log_sum_gradient : {false, true}) {
    add_gradient(cases, {2, 2, 3, 4, 2, 3}, has_log_sum_gradient);
    add_gradient(cases, {1, 1, 5, 2, 3, 1}, has_log_sum_gradient);
    add_gradient(cases, {1, 3, 1, 6, 1, 2}, has_log_sum_gradient);
  }
}

}  // namespace traingraph::testing
