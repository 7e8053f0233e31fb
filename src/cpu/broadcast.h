// SPDX-License-Identifier: MIT
// Loops over operands that broadcast against each other, as
// lowering/plans/broadcast_plan.h lays them out.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/parallel.h"
#include "lowering/plans/broadcast_plan.h"

namespace traingraph::cpu {

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
