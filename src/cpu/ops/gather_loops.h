// SPDX-License-Identifier: MIT
// Loops of gather and scatter. oneDNN has neither. Where sources meet, each
// thread owns columns of the result and takes the sources in their order, so
// the number of threads changes no bit.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/float_types.h"
#include "cpu/parallel.h"

namespace traingraph::cpu {

/// Tensors seen as (outer, axis, inner): (outer, size, inner) is what indices
/// name positions of, (outer, count, inner) what they name.
struct GatherPlan {
  std::int64_t outer = 1, size = 1, count = 1, inner = 1;
  bool by_slice = false;  // `count` indices, or one per element

  /// `indices` of the rank of `from`, or of one axis.
  GatherPlan(const Shape& from, const Shape& indices, int axis)
      : size(from[axis]), by_slice(indices.rank() == 1 && from.rank() > 1) {
    for (int i = 0; i < axis; ++i) outer *= from[i];
    for (int i = axis + 1; i < from.rank(); ++i) inner *= from[i];
    count = by_slice ? indices[0] : indices[axis];
  }

  std::int64_t num_named() const { return outer * count * inner; }
  std::int64_t num_elements() const { return outer * size * inner; }

  /// Calls f(o, j) for the result rows (o, j) in [first, last).
  template <class F>
  void for_rows(std::int64_t first, std::int64_t last, F&& f) const {
    std::int64_t o = first / count, j = first % count;
    for (std::int64_t row = first; row < last; ++row) {
      f(o, j);
      if (++j == count) ++o, j = 0;
    }
  }

  /// Calls f(o, begin, end) for columns [begin, end) of the tensors' inner
  /// axis, on parts that share no element of a result.
  template <class F>
  void for_columns(F&& f) const {
    const std::int64_t grain = std::max<std::int64_t>(1, kCheapGrain / count);
    // Columns of one long inner axis: threads share no cache line.
    const std::int64_t multiple = inner % 16 == 0 ? 16 : 1;
    parallel_for(
        outer * inner, grain,
        [&](std::int64_t first, std::int64_t last) {
          while (first < last) {
            const std::int64_t o = first / inner, begin = first % inner;
            const std::int64_t end = std::min(inner, begin + last - first);
            f(o, begin, end);
            first += end - begin;
          }
        },
        multiple);
  }
};

template <class T>
void copy_elements(const T* from, T* to, std::int64_t n) {
  if (from == to) return;
  parallel_for(n, kCheapGrain, [&](std::int64_t begin, std::int64_t end) {
    std::copy(from + begin, from + end, to + begin);
  });
}

/// y[o, j, i] = x[o, at[...], i]
template <class T, class I>
void gather(const GatherPlan& plan, const T* x, const I* at, T* y) {
  const std::int64_t inner = plan.inner;
  parallel_for(
      plan.outer * plan.count, std::max<std::int64_t>(1, kCheapGrain / inner),
      [&](std::int64_t first, std::int64_t last) {
        plan.for_rows(first, last, [&](std::int64_t o, std::int64_t j) {
          const T* from = x + o * plan.size * inner;
          const std::int64_t row = o * plan.count + j;
          T* to = y + row * inner;
          if (plan.by_slice) {
            std::copy_n(from + at[j] * inner, inner, to);
            return;
          }
          const I* named = at + row * inner;
          for (std::int64_t i = 0; i < inner; ++i) {
            to[i] = from[named[i] * inner + i];
          }
        });
      },
      /*multiple=*/1);
}

/// Calls f(named element, element of the other tensor) for columns
/// [begin, end) of `o`, in the order of j.
template <class I, class F>
void for_named(const GatherPlan& plan, const I* at, std::int64_t o,
               std::int64_t begin, std::int64_t end, F&& f) {
  const std::int64_t inner = plan.inner;
  for (std::int64_t j = 0; j < plan.count; ++j) {
    const std::int64_t row = (o * plan.count + j) * inner;
    if (plan.by_slice) {
      const std::int64_t to = (o * plan.size + at[j]) * inner;
      for (std::int64_t i = begin; i < end; ++i) f(row + i, to + i);
      continue;
    }
    for (std::int64_t i = begin; i < end; ++i) {
      f(row + i, (o * plan.size + at[row + i]) * inner + i);
    }
  }
}

/// y = data, but x where indices name elements; the last one wins.
template <class T, class I>
void scatter(const GatherPlan& plan, const T* x, const I* at, const T* data,
             T* y) {
  copy_elements(data, y, plan.num_elements());
  plan.for_columns([&](std::int64_t o, std::int64_t begin, std::int64_t end) {
    for_named(plan, at, o, begin, end,
              [&](std::int64_t from, std::int64_t to) { y[to] = x[from]; });
  });
}

/// y = data + all x that name an element. `sums` as add_sums() gives them; of
/// integers without a sign, which overflow by rule, y.
template <class T, class Sum, class I>
void scatter_add(const GatherPlan& plan, const T* x, const I* at, const T* data,
                 Sum* sums, T* y) {
  constexpr bool is_exact = std::is_same_v<T, Sum>;
  if constexpr (is_exact) {
    copy_elements(data, y, plan.num_elements());
  } else {
    parallel_for(plan.num_elements(), kCheapGrain,
                 [&](std::int64_t begin, std::int64_t end) {
                   std::copy(data + begin, data + end, sums + begin);
                 });
  }
  plan.for_columns([&](std::int64_t o, std::int64_t begin, std::int64_t end) {
    for_named(plan, at, o, begin, end, [&](std::int64_t from, std::int64_t to) {
      sums[to] += static_cast<Sum>(x[from]);
    });
  });
  if constexpr (!is_exact) {
    parallel_for(plan.num_elements(), kCheapGrain,
                 [&](std::int64_t begin, std::int64_t end) {
                   store_sums(sums + begin, y + begin, end - begin);
                 });
  }
}

/// dx[o, j, i] = g[o, at[...], i], but 0 where a later one names the same
/// element. `last` holds an entry per element of g; only entries that were
/// written are read.
template <class T, class I>
void scatter_gradient(const GatherPlan& plan, const T* g, const I* at,
                      std::int64_t* last, T* dx) {
  plan.for_columns([&](std::int64_t o, std::int64_t begin, std::int64_t end) {
    for_named(plan, at, o, begin, end,
              [&](std::int64_t x, std::int64_t y) { last[y] = x; });
    for_named(plan, at, o, begin, end, [&](std::int64_t x, std::int64_t y) {
      dx[x] = last[y] == x ? g[y] : T(0.0f);
    });
  });
}

}  // namespace traingraph::cpu
