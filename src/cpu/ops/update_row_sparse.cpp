// SPDX-License-Identifier: MIT
// Rows that were looked up are counted through, and the gradients of their
// tokens added up in the order of the tokens. So every bit is that of
// embedding_gradient.
#include "cpu/ops/update_row_sparse.h"

#include "base/checked.h"
#include "cpu/ops/gather_embedding_loops.h"
#include "cpu/ops/gather_indices.h"
#include "cpu/parallel.h"
#include "cpu/typed_address.h"

namespace traingraph::cpu {
namespace {

/// Memory of one run besides that of the gradient.
struct TokenRows {
  std::int32_t* number_of_token;  // of its row; -1: padding has no gradient
  std::int32_t* times;            // that each row was looked up
};

void clear_numbers(std::int64_t count, std::int32_t* numbers) {
  parallel_for(count, kCheapGrain, [=](std::int64_t begin, std::int64_t end) {
    std::fill(numbers + begin, numbers + end, -1);
  });
}

template <class I>
void find_rows(const EmbeddingPlan& plan, const I* at, const TokenRows& tokens,
               RowSparseGradient& found) {
  for (std::int64_t k = 0; k < plan.num_tokens; ++k) {
    const std::int64_t row = at[k];
    tokens.number_of_token[k] = -1;
    if (row == plan.padding_index) continue;
    if (!found.find(row)) {
      found.number_of_row[row] = static_cast<std::int32_t>(found.count);
      found.rows[found.count] = row;
      tokens.times[found.count] = 0;
      ++found.count;
    }
    const std::int32_t n = found.number_of_row[row];
    ++tokens.times[n];
    tokens.number_of_token[k] = n;
  }
}

/// `divides`: each row by how often it was looked up.
void sum_rows(const EmbeddingPlan& plan, bool divides, const float* gradient,
              const TokenRows& tokens, const RowSparseGradient& found) {
  const std::int64_t width = plan.width;
  const std::int64_t grain =
      std::max<std::int64_t>(1, kCheapGrain / plan.num_tokens);
  parallel_for(width, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = 0; n < found.count; ++n) {
      float* const sum = found.sums + n * width;
      std::fill(sum + begin, sum + end, 0.0f);
    }
    for (std::int64_t k = 0; k < plan.num_tokens; ++k) {
      const std::int32_t n = tokens.number_of_token[k];
      if (n < 0) continue;
      const float* const from = gradient + k * width;
      float* const to = found.sums + n * width;
      for (std::int64_t i = begin; i < end; ++i) to[i] += from[i];
    }
    for (std::int64_t n = 0; divides && n < found.count; ++n) {
      const auto divisor = static_cast<float>(tokens.times[n]);
      float* const sum = found.sums + n * width;
      for (std::int64_t i = begin; i < end; ++i) sum[i] /= divisor;
    }
  });
}

}  // namespace

RowSparseFactory add_row_sparse_gradient(UnitBuilder& update,
                                         UnitBuilder& gradient,
                                         bool visits_all) {
  enum { kTokens = 0, kIndices = 1 };
  const auto& attrs = gradient.attrs<EmbeddingGradientAttrs>();
  const Shape& shape = attrs.shape;
  const EmbeddingPlan plan{
      .count = shape.num_elements() / shape.back(),
      .width = shape.back(),
      .num_tokens = gradient.input_shape(kIndices).num_elements(),
      .padding_index = attrs.padding_index};
  const IndexCheck check(gradient, kIndices, plan.count);
  const bool divides = attrs.scales_gradient_by_frequency;
  const std::int64_t most = std::min(plan.count, plan.num_tokens);
  const auto scratch = [&]<class E>(E, std::int64_t count) {
    return update.scratch(checked_bytes<E>(count, "scratch"));
  };
  const int tokens = gradient.read(kTokens), at = gradient.read(kIndices),
            number_of_row = scratch(std::int32_t{}, plan.count),
            number_of_token = scratch(std::int32_t{}, plan.num_tokens),
            rows = scratch(std::int64_t{}, most),
            times = scratch(std::int32_t{}, most),
            sums =
                scratch(float{}, checked_multiply(most, plan.width, "scratch"));
  RowSparseFactory factory;
  visit_index_type(gradient, kIndices, [&]<class I>(I) {
    factory = [=](BindContext& args) {
      const TokenRows of_tokens{
          .number_of_token = typed<std::int32_t>(args[number_of_token]),
          .times = typed<std::int32_t>(args[times])};
      const RowSparseGradient none{
          .width = plan.width,
          .rows = typed<std::int64_t>(args[rows]),
          .sums = floats(args[sums]),
          .number_of_row = typed<std::int32_t>(args[number_of_row])};
      return [=, at = typed<I>(args[at]), tokens = floats(args[tokens])] {
        check.require(at);
        RowSparseGradient found = none;
        if (visits_all) clear_numbers(plan.count, found.number_of_row);
        find_rows(plan, at, of_tokens, found);
        sum_rows(plan, divides, tokens, of_tokens, found);
        return found;
      };
    };
  });
  return factory;
}

}  // namespace traingraph::cpu
