// SPDX-License-Identifier: MIT
// Embedding and its gradient. Sums over tokens are in the GPU's order: bits may
// differ from run to run.
#include <cmath>

#import "metal/ops/gather_indices.h"

namespace traingraph::metal {
namespace {

constexpr int kIndices = 1;

/// Weights as (count, width).
Shape as_rows(const Shape& weights) {
  return {weights.num_elements() / weights.back(), weights.back()};
}

/// Norms of the rows of (k, width), as (k, 1).
T norms(GraphBuilder& b, T rows, const Shape& shape, double p) {
  const Shape last{1};
  T size = b.abs(rows);
  if (std::isinf(p)) return b.maximum(size, shape, last);
  if (p == 1) return b.sum(size, shape, last);
  if (p == 2) return b.sqrt(b.sum(b.square(rows), shape, last));
  T powers = b.pow(size, b.scalar_like(size, p));
  T sum = b.sum(powers, shape, last);
  return b.pow(sum, b.scalar_like(sum, 1 / p));
}

/// Rows with a larger norm, scaled to the maximum.
T scaled(GraphBuilder& b, T rows, const Shape& shape) {
  const auto& attrs = b.attrs<EmbeddingAttrs>();
  const double most = attrs.maximum_norm;
  T size = norms(b, rows, shape, attrs.p_norm);
  T scale = b.div(most, b.add(size, 1e-7));
  return b.select(b.greater(size, most), b.mul(rows, scale), rows);
}

/// Each token's gradient over how often its row was looked up.
T over_frequency(GraphBuilder& b, T rows, T at, std::int64_t num_tokens,
                 std::int64_t count) {
  T ones = [b.graph() constantWithScalar:1
                                   shape:ns_list({num_tokens, 1})
                                dataType:[rows dataType]];
  return b.div(rows, gather_rows(b, add_rows(b, ones, at, {count, 1}), at));
}

}  // namespace

void lower_embedding(GraphBuilder& b) {
  const Shape table = as_rows(b.input_shape(0));
  const std::int64_t num_tokens = b.input_shape(kIndices).num_elements();
  const Positions p = positions(b, kIndices, {num_tokens}, table[0]);
  const Shape shape{num_tokens, table[1]};
  T weights = b.reshape(b.input(0), table);
  T rows = gather_rows(b, weights, p.at);
  if (b.attrs<EmbeddingAttrs>().maximum_norm > 0) {
    rows = scaled(b, rows, shape);
    if (mutates(b.node(), 0)) {
      // Tokens that meet write the same.
      T changed = set_rows(b, weights, rows, p.at);
      b.update(0, b.reshape(changed, b.input_shape(0)));
    }
  }
  T is_inside = b.reshape(p.is_inside, {num_tokens, 1});
  b.set(b.reshape(nan_outside(b, rows, is_inside), b.result_shape()));
}

void lower_embedding_gradient(GraphBuilder& b) {
  const auto& attrs = b.attrs<EmbeddingGradientAttrs>();
  const std::int64_t num_tokens = b.input_shape(kIndices).num_elements();
  const Shape list{num_tokens};
  const Shape table = as_rows(attrs.shape);
  const Positions p = positions(b, kIndices, list, table[0]);
  T rows = b.reshape(b.input(0), {num_tokens, table[1]});
  if (attrs.padding_index >= 0) {
    T is_padding = b.equal(p.at, static_cast<double>(attrs.padding_index));
    rows = b.select(b.reshape(is_padding, {num_tokens, 1}), 0.0, rows);
  }
  if (attrs.scales_gradient_by_frequency) {
    rows = over_frequency(b, rows, p.at, num_tokens, table[0]);
  }
  T sums = add_rows(b, rows, p.at, table);
  sums = nan_unless_all(b, sums, p.is_inside, list);
  b.set(b.reshape(sums, attrs.shape));
}

}  // namespace traingraph::metal
