// SPDX-License-Identifier: MIT
// Rows that were looked up are counted through and their gradients added up in
// the order of the tokens, as embedding_gradient does; the update is that of
// sgd_update. So every bit is that of the two ops one after the other.
#include "cpu/ops/update_rows.h"

#include "base/checked.h"
#include "cpu/ops/gather_indices.h"
#include "cpu/ops/update_loops.h"
#include "cpu/ops/update_rows_found.h"
#include "cpu/typed_address.h"

namespace traingraph::cpu {
namespace {

struct RowStep {
  bool divides;  // by how often a row was looked up
  SgdUpdateAttrs attrs;
};

void update_rows(const EmbeddingPlan& plan, const RowsFound& found,
                 const RowStep& rule, const float* rates, float* sums,
                 float* parameter) {
  const SgdStep<RegularizationType::None> step(rule.attrs, rates,
                                               /*scale=*/nullptr);
  const std::int64_t width = plan.width;
  parallel_for(
      found.count, plan.grain(),
      [&](std::int64_t first, std::int64_t last) {
        // A copy, so that no store can be taken for a change of it.
        const auto local = step;
        for (std::int64_t n = first; n < last; ++n) {
          float* const sum = sums + n * width;
          float* const p = parameter + found.rows[n] * width;
          if (rule.divides) found.divide(plan, n, sum);
#pragma omp simd
          for (std::int64_t i = 0; i < width; ++i) {
            local(sum[i], p[i]);
          }
        }
      },
      /*multiple=*/1);
}

}  // namespace

void lower_row_update(NodeLowering& update, NodeLowering& gradient) {
  enum { kParameter = 0, kRates = 3 };
  enum { kTokens = 0, kIndices = 1 };
  const auto& backward = gradient.attrs<EmbeddingGradientAttrs>();
  const Shape& shape = backward.shape;
  const EmbeddingPlan plan{
      .count = shape.num_elements() / shape.back(),
      .width = shape.back(),
      .num_tokens = gradient.input_shape(kIndices).num_elements(),
      .padding_index = backward.padding_index};
  const RowStep rule{.divides = backward.scales_gradient_by_frequency,
                     .attrs = update.attrs<SgdUpdateAttrs>()};
  const IndexCheck check(gradient, kIndices, plan.count);
  const std::int64_t most = std::min(plan.count, plan.num_tokens);
  const auto scratch = [&]<class E>(E, std::int64_t count) {
    return update.scratch(checked_bytes<E>(count, "scratch"));
  };
  const int p = update.mutate(kParameter), rates = update.read(kRates),
            tokens = gradient.read(kTokens), at = gradient.read(kIndices),
            number_of_row = scratch(std::int32_t{}, plan.count),
            number_of_token = scratch(std::int32_t{}, plan.num_tokens),
            rows = scratch(std::int64_t{}, most),
            times = scratch(std::int32_t{}, most),
            sums =
                scratch(float{}, checked_multiply(most, plan.width, "scratch"));
  const DataType type = gradient.input_desc(kTokens).data_type;
  visit_float_type(gradient, type, [&]<class T>(T) {
    visit_index_type(gradient, kIndices, [&]<class I>(I) {
      update.emit([=](std::span<std::byte* const> args) -> BoundKernel {
        const RowsFound empty{
            .number_of_row = typed<std::int32_t>(args[number_of_row]),
            .number_of_token = typed<std::int32_t>(args[number_of_token]),
            .rows = typed<std::int64_t>(args[rows]),
            .times = typed<std::int32_t>(args[times])};
        return [=, at = typed<I>(args[at]), tokens = typed<T>(args[tokens]),
                rates = floats(args[rates]), sums = floats(args[sums]),
                p = floats(args[p])] {
          check.require(at);
          RowsFound found = empty;
          found.find(plan, at, /*finds_padding=*/false);
          add_tokens_of(plan, found, tokens, sums);
          update_rows(plan, found, rule, rates, sums, p);
        };
      });
    });
  });
}

}  // namespace traingraph::cpu
