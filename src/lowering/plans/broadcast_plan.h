// SPDX-License-Identifier: MIT
// How operands that broadcast against each other (NumPy's rule) are walked.
// Axes that all operands walk alike are merged first, so that equal shapes, a
// scalar, a vector per channel or per last axis all become one or two axes
// with a long, vectorisable inner loop.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "traingraph/types.h"

namespace traingraph {

/// Merged axes of `kOperands` inputs and one dense result.
template <std::size_t kOperands>
struct BroadcastPlan {
  using Offsets = std::array<std::int64_t, kOperands>;

  int rank = 0;
  std::array<std::int64_t, kMaxRank> sizes{};
  std::array<Offsets, kMaxRank> strides{};  // in elements; 0: repeats

  std::int64_t num_elements() const {
    std::int64_t n = 1;
    for (int i = 0; i < rank; ++i) n *= sizes[i];
    return n;
  }
};

template <std::size_t kOperands>
BroadcastPlan<kOperands> plan_broadcast(
    const Shape& result, const std::array<Shape, kOperands>& operands) {
  BroadcastPlan<kOperands> plan;
  std::array<Shape, kOperands> strides;
  for (std::size_t k = 0; k < kOperands; ++k) {
    strides[k] = Shape::filled(result.rank(), 0);
    std::int64_t stride = 1;
    const int shift = result.rank() - operands[k].rank();
    for (int axis = operands[k].rank() - 1; axis >= 0; --axis) {
      const std::int64_t size = operands[k][axis];
      strides[k][axis + shift] = size == 1 ? 0 : stride;
      stride *= size;
    }
  }
  for (int axis = 0; axis < result.rank(); ++axis) {
    if (result[axis] == 1) continue;
    bool merges = plan.rank > 0;
    for (std::size_t k = 0; k < kOperands && merges; ++k) {
      merges =
          plan.strides[plan.rank - 1][k] == strides[k][axis] * result[axis];
    }
    const int to = merges ? plan.rank - 1 : plan.rank++;
    plan.sizes[to] = merges ? plan.sizes[to] * result[axis] : result[axis];
    for (std::size_t k = 0; k < kOperands; ++k) {
      plan.strides[to][k] = strides[k][axis];
    }
  }
  if (plan.rank == 0) {  // one element
    plan.sizes[0] = 1;
    plan.rank = 1;
  }
  return plan;
}

}  // namespace traingraph
