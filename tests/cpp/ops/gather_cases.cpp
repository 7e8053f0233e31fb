// SPDX-License-Identifier: MIT
// Cases of gather, scatter and embedding: both types of indices, whole slices
// and single elements, few positions so that many sources meet.
#include <limits>

#include "ops/cases.h"

namespace traingraph::testing {
namespace {

CaseInput positions(const Shape& shape, std::int64_t count, DataType type) {
  return {.shape = shape,
          .domain = integers(0, static_cast<int>(count) - 1),
          .data_type = type};
}

struct Kind {
  DataType type = DataType::Int32;
  bool by_slice = false;
};

constexpr Kind kKinds[] = {{DataType::Int32, false},
                           {DataType::Int64, false},
                           {DataType::Int32, true},
                           {DataType::Int64, true}};

/// `count` indices along `axis` of a tensor of shape `from`.
void add_along(OpCases& cases, const Shape& from, int axis,
               std::int64_t count) {
  Shape named = from;
  named[axis] = count;
  for (const Kind& kind : kKinds) {
    const CaseInput indices =
        positions(kind.by_slice ? Shape{count} : named, from[axis], kind.type);
    cases.push_back({.op = OpKind::Gather,
                     .attrs = AxisAttrs{axis},
                     .inputs = {{from}, indices},
                     .gradients = {0},
                     .tolerance = 0});
    cases.push_back({.op = OpKind::ScatterGradient,
                     .attrs = AxisAttrs{axis},
                     .inputs = {{from}, indices},
                     .tolerance = 0});
    for (auto type : {ReductionType::None, ReductionType::Sum}) {
      cases.push_back(
          {.op = OpKind::Scatter,
           .attrs = ScatterAttrs{axis, type},
           .inputs = {{named}, indices, {from}},
           .gradients = {0, 2},
           .tolerance = type == ReductionType::None ? 0 : kTolerance});
    }
  }
}

void add_embeddings(OpCases& cases, const Shape& weights, const Shape& indices,
                    const EmbeddingAttrs& attrs) {
  const std::int64_t count = weights.num_elements() / weights.back();
  Shape result = indices;
  result.push_back(weights.back());
  for (DataType type : {DataType::Int32, DataType::Int64}) {
    OpCase forward{.op = OpKind::Embedding,
                   .attrs = attrs,
                   .inputs = {{weights}, positions(indices, count, type)}};
    // The reference's central differences know neither rows that no gradient
    // reaches nor divisors; embedding_gradient has those.
    const bool is_plain = attrs.padding_index < 0 && attrs.maximum_norm == 0 &&
                          !attrs.scales_gradient_by_frequency;
    if (is_plain) forward.gradients = {0};
    if (attrs.maximum_norm == 0) forward.tolerance = 0;
    cases.push_back(forward);
    cases.push_back(
        {.op = OpKind::EmbeddingGradient,
         .attrs = EmbeddingGradientAttrs{attrs.padding_index,
                                         attrs.scales_gradient_by_frequency,
                                         weights},
         .inputs = {{result}, positions(indices, count, type)}});
  }
}

}  // namespace

void add_gather_cases(OpCases& cases, Random& random) {
  add_along(cases, {1}, 0, 1);
  add_along(cases, {5}, 0, 9);
  add_along(cases, {3, 7}, 0, 4);
  add_along(cases, {3, 7}, 1, 4);
  add_along(cases, {7, 32}, 0, 50);
  add_along(cases, {2, 3, 5}, 1, 2);
  add_along(cases, {2, 3, 1}, 1, 6);
  add_along(cases, {2, 1, 3, 1, 4}, 2, 5);
  add_along(cases, {2, 2, 1, 3, 1, 2, 2, 3}, 3, 4);
  for (int i = 0; i < 6; ++i) {
    const Shape from = random_shape(random, 1 + i % 5, 5);
    add_along(cases, from, static_cast<int>(pick(random, 0, from.rank() - 1)),
              pick(random, 1, 8));
  }

  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const EmbeddingAttrs variants[] = {
      {},
      {.padding_index = 1},
      {.scales_gradient_by_frequency = true},
      {.padding_index = 0, .scales_gradient_by_frequency = true},
      {.maximum_norm = 0.8f},
      {.maximum_norm = 0.8f, .training = false},
      {.padding_index = 2, .maximum_norm = 0.9f, .p_norm = 1},
      {.maximum_norm = 0.5f, .p_norm = kInfinity},
      {.maximum_norm = 0.7f, .p_norm = 3},
      {.maximum_norm = 0.7f, .p_norm = 2.5f, .training = false}};
  for (const EmbeddingAttrs& attrs : variants) {
    add_embeddings(cases, {5, 4}, {7}, attrs);
    add_embeddings(cases, {7, 16}, {2, 3, 5}, attrs);
    add_embeddings(cases, {1, 3, 1, 33}, {4, 3}, attrs);
  }
  add_embeddings(cases, {3, 1}, {1}, {});
  add_embeddings(cases, {40, 64}, {50}, {});
  // Many sources for few rows.
  add_embeddings(cases, {5, 3}, {300}, {.scales_gradient_by_frequency = true});
  add_along(cases, {6, 2}, 0, 300);
}

}  // namespace traingraph::testing
