// SPDX-License-Identifier: MIT
// The loops of reductions over a ReducePlan. Work is cut into pieces by shape
// alone and pieces are combined in order, sums in double: the result does not
// depend on the number of threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/divide_up.h"
#include "cpu/parallel.h"
#include "lowering/plans/reduce_plan.h"

namespace traingraph::cpu {

// A reducer: the neutral value, how an element joins, how two pieces join, and
// what the result of n elements is.
struct Sum {
  using Total = double;
  static Total neutral() { return 0; }
  static Total join(Total a, float x) { return a + x; }
  static Total merge(Total a, Total b) { return a + b; }
  static float finish(Total a, std::int64_t) { return static_cast<float>(a); }
};

struct Mean : Sum {
  static float finish(Total a, std::int64_t n) {
    return static_cast<float>(a / static_cast<double>(n));
  }
};

struct AbsoluteSum : Sum {
  static Total join(Total a, float x) { return a + std::fabs(x); }
};

struct SquareSum : Sum {
  static Total join(Total a, float x) { return a + static_cast<double>(x) * x; }
};

// A NaN wins, as in NumPy.
struct Max {
  using Total = float;
  static Total neutral() { return -std::numeric_limits<float>::infinity(); }
  static Total join(Total a, float x) { return x > a || x != x ? x : a; }
  static Total merge(Total a, Total b) { return join(a, b); }
  static float finish(Total a, std::int64_t) { return a; }
};

struct Min : Max {
  static Total neutral() { return std::numeric_limits<float>::infinity(); }
  static Total join(Total a, float x) { return x < a || x != x ? x : a; }
  static Total merge(Total a, Total b) { return join(a, b); }
};

// Integers: sums modulo 2 to the number of their bits.
template <class T>
struct IntegerSum {
  using Total = std::make_unsigned_t<T>;
  static Total neutral() { return 0; }
  static Total join(Total a, T x) { return a + static_cast<Total>(x); }
  static Total merge(Total a, Total b) { return a + b; }
  static T finish(Total a, std::int64_t) { return static_cast<T>(a); }
};

template <class T>
struct IntegerAbsoluteSum : IntegerSum<T> {
  using Total = std::make_unsigned_t<T>;
  static Total join(Total a, T x) {
    const auto bits = static_cast<Total>(x);
    return x < 0 ? a - bits : a + bits;
  }
};

template <class T>
struct IntegerMax {
  using Total = T;
  static Total neutral() { return std::numeric_limits<T>::lowest(); }
  static Total join(Total a, T x) { return std::max(a, x); }
  static Total merge(Total a, Total b) { return join(a, b); }
  static T finish(Total a, std::int64_t) { return a; }
};

template <class T>
struct IntegerMin : IntegerMax<T> {
  using Total = T;
  static Total neutral() { return std::numeric_limits<T>::max(); }
  static Total join(Total a, T x) { return std::min(a, x); }
  static Total merge(Total a, Total b) { return join(a, b); }
};

struct Any {
  using Total = std::uint8_t;
  static Total neutral() { return 0; }
  static Total join(Total a, std::uint8_t x) { return a | (x != 0); }
  static Total merge(Total a, Total b) { return a | b; }
  static std::uint8_t finish(Total a, std::int64_t) { return a; }
};

struct All : Any {
  static Total neutral() { return 1; }
  static Total join(Total a, std::uint8_t x) { return a & (x != 0); }
  static Total merge(Total a, Total b) { return a & b; }
};

/// `count` contiguous elements, in lanes that the compiler can vectorise.
template <class R, class X>
typename R::Total reduce_run(const X* x, std::int64_t count) {
  constexpr int kLanes = 8;
  typename R::Total lanes[kLanes];
  std::fill_n(lanes, kLanes, R::neutral());
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = R::join(lanes[lane], x[i + lane]);
    }
  }
  for (int lane = 0; i < count; ++i, ++lane) {
    lanes[lane] = R::join(lanes[lane], x[i]);
  }
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) {
      lanes[lane] = R::merge(lanes[lane], lanes[lane + half]);
    }
  }
  return lanes[0];
}

/// One task when the rows themselves are reduced: pieces of rows of an output.
template <class R, class X>
typename R::Total reduce_pieces(const ReducePlan& plan, const X* x,
                                const ReduceTask& task) {
  typename R::Total total = R::neutral();
  for (std::int64_t piece = task.first; piece < task.last; ++piece) {
    const std::int64_t row = piece / plan.pieces_per_row;
    const std::int64_t begin =
        piece % plan.pieces_per_row * ReducePlan::kPieceLength;
    const std::int64_t count =
        std::min(ReducePlan::kPieceLength, plan.row_length - begin);
    total = R::merge(
        total, reduce_run<R>(x + task.offset + plan.reduced.offset(row) + begin,
                             count));
  }
  return total;
}

/// One task when rows are kept: adds up rows, a block of columns at a time. A
/// total takes several rows before it goes back to memory.
template <class R, class X>
void reduce_rows(const ReducePlan& plan, const X* x, const ReduceTask& task,
                 typename R::Total* totals) {
  using Total = typename R::Total;
  constexpr std::int64_t kTogether = 8;
  const auto row_at = [&](std::int64_t row) {
    return x + task.offset + plan.reduced.offset(row);
  };
  std::fill_n(totals, task.num_columns, R::neutral());
  std::int64_t row = task.first;
  for (; row + kTogether <= task.last; row += kTogether) {
    const X* from[kTogether];
    for (std::int64_t r = 0; r < kTogether; ++r) from[r] = row_at(row + r);
#pragma omp simd
    for (std::int64_t j = 0; j < task.num_columns; ++j) {
      Total total = totals[j];
#pragma GCC unroll 8
      for (std::int64_t r = 0; r < kTogether; ++r) {
        total = R::join(total, from[r][j]);
      }
      totals[j] = total;
    }
  }
  for (; row < task.last; ++row) {
    const X* from = row_at(row);
#pragma omp simd
    for (std::int64_t j = 0; j < task.num_columns; ++j) {
      totals[j] = R::join(totals[j], from[j]);
    }
  }
}

/// `partial` is for plans with several chunks.
template <class R, class X, class Y>
void run_reduce(const ReducePlan& plan, const X* x, Y* y,
                typename R::Total* partial) {
  using Total = typename R::Total;
  const std::int64_t n = plan.num_reduced;
  parallel_for(
      plan.num_tasks(), plan.task_grain,
      [&](std::int64_t begin, std::int64_t end) {
        Total totals[ReducePlan::kColumns];
        for (std::int64_t t = begin; t < end; ++t) {
          const ReduceTask task = plan.task(t);
          if (plan.reduces_rows) {
            totals[0] = reduce_pieces<R>(plan, x, task);
          } else {
            reduce_rows<R>(plan, x, task, totals);
          }
          for (std::int64_t j = 0; j < task.num_columns; ++j) {
            const std::int64_t output = task.output + j;
            if (plan.num_chunks == 1) {
              y[output] = R::finish(totals[j], n);
            } else {
              partial[task.chunk * plan.num_outputs + output] = totals[j];
            }
          }
        }
      },
      /*multiple=*/1);
  if (plan.num_chunks == 1) return;
  parallel_for(plan.num_outputs, 4096,
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   Total total = partial[i];
                   for (std::int64_t c = 1; c < plan.num_chunks; ++c) {
                     total = R::merge(total, partial[c * plan.num_outputs + i]);
                   }
                   y[i] = R::finish(total, n);
                 }
               });
}

/// Index of the first extreme value along one axis; a NaN wins, as in NumPy.
template <class R, class X>
void run_index_of(const X* x, std::int32_t* y, std::int64_t outer,
                  std::int64_t length, std::int64_t inner) {
  const std::int64_t grain = std::max<std::int64_t>(1, 8192 / length);
  parallel_for(outer * inner, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const X* from = x + i / inner * length * inner + i % inner;
      typename R::Total best = from[0];
      std::int32_t index = 0;
      for (std::int64_t k = 1; k < length && best == best; ++k) {
        const typename R::Total joined = R::join(best, from[k * inner]);
        if (joined == best) continue;
        best = joined;
        index = static_cast<std::int32_t>(k);
      }
      y[i] = index;
    }
  });
}

/// Sums along the middle of (outer, length, inner), a block of columns at a
/// time. Total: what elements are added up in.
template <class Total, class X>
void run_cumulative_sum(const X* x, X* y, const Shape& folded,
                        bool is_exclusive, bool reverse) {
  const std::int64_t length = folded[1], inner = folded[2];
  constexpr std::int64_t kColumns = 64;
  const std::int64_t blocks = divide_up(inner, kColumns);
  const std::int64_t work = length * std::min(inner, kColumns);
  parallel_for(
      folded[0] * blocks, 1 + kCheapGrain / work,
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t task = begin; task < end; ++task) {
          const std::int64_t first = task % blocks * kColumns;
          const std::int64_t count = std::min(kColumns, inner - first);
          const std::int64_t plane = task / blocks * length * inner + first;
          Total totals[kColumns] = {};
          for (std::int64_t k = 0; k < length; ++k) {
            const std::int64_t row =
                plane + (reverse ? length - 1 - k : k) * inner;
            for (std::int64_t j = 0; j < count; ++j) {
              const Total before = totals[j];
              totals[j] = before + static_cast<Total>(x[row + j]);
              y[row + j] = static_cast<X>(is_exclusive ? before : totals[j]);
            }
          }
        }
      },
      /*multiple=*/1);
}

}  // namespace traingraph::cpu
