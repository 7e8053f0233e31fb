// SPDX-License-Identifier: MIT
// Loops over operands that broadcast against each other (NumPy's rule). Axes
// that all operands walk alike are merged first, so that equal shapes, a
// scalar, a vector per channel or per last axis all become one or two axes
// with a long, vectorisable inner loop.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "cpu/parallel.h"
#include "traingraph/types.h"

namespace traingraph::cpu {

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

/// Calls row(offset in the result, offsets in the operands, length) for pieces
/// of the innermost axis that cover the result, on the thread pool.
template <std::size_t kOperands, class Row>
void broadcast_rows(const BroadcastPlan<kOperands>& plan, std::int64_t grain,
                    Row&& row) {
  const int inner = plan.rank - 1;
  const std::int64_t length = plan.sizes[inner];
  parallel_for(plan.num_elements(), grain, [&](auto begin, auto end) {
    while (begin < end) {
      typename BroadcastPlan<kOperands>::Offsets offsets{};
      std::int64_t rest = begin / length;
      const std::int64_t first = begin % length;
      for (int axis = inner - 1; axis >= 0; --axis) {
        const std::int64_t index = rest % plan.sizes[axis];
        rest /= plan.sizes[axis];
        for (std::size_t k = 0; k < kOperands; ++k) {
          offsets[k] += index * plan.strides[axis][k];
        }
      }
      for (std::size_t k = 0; k < kOperands; ++k) {
        offsets[k] += first * plan.strides[inner][k];
      }
      const std::int64_t count = std::min(length - first, end - begin);
      row(begin, offsets, count);
      begin += count;
    }
  });
}

/// z[i] = f(x[i], y[i]) with x and y broadcast to z.
template <class X, class Z, class F>
void broadcast_binary(const BroadcastPlan<2>& plan, std::int64_t grain,
                      const X* x, const X* y, Z* z, F f) {
  // The innermost step of a dense operand is one element or none.
  const bool x_moves = plan.strides[plan.rank - 1][0] != 0;
  const bool y_moves = plan.strides[plan.rank - 1][1] != 0;
  broadcast_rows(plan, grain,
                 [&](std::int64_t at, const auto& from, std::int64_t count) {
                   const X *a = x + from[0], *b = y + from[1];
                   Z* c = z + at;
                   if (x_moves && y_moves) {
                     for (std::int64_t i = 0; i < count; ++i)
                       c[i] = f(a[i], b[i]);
                   } else if (x_moves) {
                     const X right = *b;
                     for (std::int64_t i = 0; i < count; ++i)
                       c[i] = f(a[i], right);
                   } else {
                     const X left = *a;
                     for (std::int64_t i = 0; i < count; ++i)
                       c[i] = f(left, b[i]);
                   }
                 });
}

}  // namespace traingraph::cpu
