// SPDX-License-Identifier: MIT
#include "compiler/batch_cases.h"

namespace traingraph::testing {
namespace {

constexpr DataType kInt = DataType::Int32;

}  // namespace

std::vector<Row> gather_rows() {
  using enum OpKind;
  const ScatterAttrs sum{.axis = 1, .reduction_type = ReductionType::Sum};
  const ScatterAttrs onto_rows{.axis = 0, .reduction_type = ReductionType::Sum};
  return {
      {"gather_elements",
       [](Case& c) {
         c.add(Gather, AxisAttrs{1},
               {c.in({c.n, 5, 2}), c.in({c.n, 3, 2}, 0, kInt)});
       },
       on(0)},
      {"gather_slices",
       [](Case& c) {
         c.add(Gather, AxisAttrs{1}, {c.in({c.n, 5, 2}), c.fixed({3}, kInt)});
       },
       on(0)},
      {"gather_rows_of_a_table",
       [](Case& c) {
         c.add(Gather, AxisAttrs{0},
               {c.fixed({7, 4}), c.in({3 * c.n}, 0, kInt)});
       },
       on(0, 3, 0)},
      {"gather_elements_along_the_batch_of_indices",
       [](Case& c) {
         c.add(Gather, AxisAttrs{0},
               {c.fixed({7, 4}), c.in({c.n, 4}, 0, kInt)});
       },
       on(0)},
      refuses(
          "gather_from_the_batch",
          [](Case& c) {
            c.add(Gather, AxisAttrs{0}, {c.in({c.n, 5}), c.fixed({3}, kInt)});
          },
          "the axis that follows the batch"),
      refuses(
          "gather_with_fixed_indices",
          [](Case& c) {
            c.add(Gather, AxisAttrs{1},
                  {c.in({c.n, 5}), c.fixed({c.n, 3}, kInt)});
          },
          "does not vary with the batch"),
      {"scatter_elements",
       [=](Case& c) {
         c.add(Scatter, sum,
               {c.in({c.n, 3}), c.in({c.n, 3}, 0, kInt), c.in({c.n, 5})});
       },
       on(0)},
      {"scatter_slices",
       [=](Case& c) {
         c.add(Scatter, sum,
               {c.in({c.n, 3, 2}), c.fixed({3}, kInt), c.in({c.n, 5, 2})});
       },
       on(0)},
      {"scatter_samples_over_a_table",
       [=](Case& c) {
         c.add(Scatter, onto_rows,
               {c.in({c.n, 4}), c.in({c.n}, 0, kInt), c.fixed({7, 4})});
       },
       kNone},
      {"scatter_into_zeros",
       [=](Case& c) {
         const ValueId zeros =
             c.add(Fill, FillAttrs{.shape = {c.n, 5}, .value = 0}, {});
         c.add(Scatter, sum, {c.in({c.n, 3}), c.in({c.n, 3}, 0, kInt), zeros});
       },
       on(0)},
      refuses(
          "scatter_over_the_batch",
          [=](Case& c) {
            c.add(Scatter, onto_rows,
                  {c.fixed({3, 4}), c.fixed({3}, kInt), c.in({c.n, 4})});
          },
          "the axis that follows the batch"),
      refuses(
          "scatter_into_fixed_data",
          [=](Case& c) {
            c.add(Scatter, sum,
                  {c.in({c.n, 3}), c.in({c.n, 3}, 0, kInt), c.fixed({c.n, 5})});
          },
          "does not vary with the batch"),
      {"scatter_gradient",
       [](Case& c) {
         c.add(ScatterGradient, AxisAttrs{1},
               {c.in({c.n, 5}), c.in({c.n, 3}, 0, kInt)});
       },
       on(0)},
      {"embedding",
       [](Case& c) {
         c.add(Embedding, EmbeddingAttrs{},
               {c.variable({7, 4}), c.in({5, c.n}, 1, kInt)});
       },
       on(1)},
      refuses(
          "embedding_of_batched_weights",
          [](Case& c) {
            c.add(Embedding, EmbeddingAttrs{},
                  {c.in({c.n, 4}), c.fixed({3}, kInt)});
          },
          "must not vary with the batch"),
      {"embedding_gradient",
       [](Case& c) {
         c.add(EmbeddingGradient, EmbeddingGradientAttrs{.shape = {7, 4}},
               {c.in({c.n, 5, 4}), c.in({c.n, 5}, 0, kInt)});
       },
       kNone},
      refuses(
          "embedding_gradient_of_fixed_indices",
          [](Case& c) {
            c.add(EmbeddingGradient, EmbeddingGradientAttrs{.shape = {7, 4}},
                  {c.in({c.n, 4}), c.fixed({c.n}, kInt)});
          },
          "does not vary with the batch"),
  };
}

}  // namespace traingraph::testing
