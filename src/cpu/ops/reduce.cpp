// SPDX-License-Identifier: MIT
// Reductions, broadcasting and the squared norm. Work is cut into pieces by
// shape alone and pieces are combined in order, sums in double: the result does
// not depend on the number of threads.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked.h"
#include "cpu/lowering.h"
#include "cpu/ops/reduce_plan.h"
#include "cpu/parallel.h"
#include "cpu/strided_copy.h"
#include "cpu/typed_address.h"

namespace traingraph::cpu {
namespace {

// A reducer: the neutral value, how an element joins, how two pieces join, and
// what the result of n elements is.
struct Sum {
  using Element = float;
  using Total = double;
  static Total neutral() { return 0; }
  static Total join(Total a, Element x) { return a + x; }
  static Total merge(Total a, Total b) { return a + b; }
  static Element finish(Total a, std::int64_t) { return static_cast<float>(a); }
};

struct Mean : Sum {
  static Element finish(Total a, std::int64_t n) {
    return static_cast<float>(a / static_cast<double>(n));
  }
};

struct AbsoluteSum : Sum {
  static Total join(Total a, Element x) { return a + std::fabs(x); }
};

struct SquareSum : Sum {
  static Total join(Total a, Element x) {
    return a + static_cast<double>(x) * x;
  }
};

// A NaN wins, as in NumPy.
struct Max {
  using Element = float;
  using Total = float;
  static Total neutral() { return -std::numeric_limits<float>::infinity(); }
  static Total join(Total a, Element x) { return x > a || x != x ? x : a; }
  static Total merge(Total a, Total b) { return join(a, b); }
  static Element finish(Total a, std::int64_t) { return a; }
};

struct Min : Max {
  static Total neutral() { return std::numeric_limits<float>::infinity(); }
  static Total join(Total a, Element x) { return x < a || x != x ? x : a; }
  static Total merge(Total a, Total b) { return join(a, b); }
};

struct Any {
  using Element = std::uint8_t;
  using Total = std::uint8_t;
  static Total neutral() { return 0; }
  static Total join(Total a, Element x) { return a | (x != 0); }
  static Total merge(Total a, Total b) { return a | b; }
  static Element finish(Total a, std::int64_t) { return a; }
};

struct All : Any {
  static Total neutral() { return 1; }
  static Total join(Total a, Element x) { return a & (x != 0); }
  static Total merge(Total a, Total b) { return a & b; }
};

/// `count` contiguous elements, in lanes that the compiler can vectorise.
template <class R>
typename R::Total reduce_run(const typename R::Element* x, std::int64_t count) {
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
template <class R>
typename R::Total reduce_pieces(const ReducePlan& plan,
                                const typename R::Element* x,
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

/// One task when rows are kept: adds up rows, a block of columns at a time.
template <class R>
void reduce_rows(const ReducePlan& plan, const typename R::Element* x,
                 const ReduceTask& task, typename R::Total* totals) {
  std::fill_n(totals, task.num_columns, R::neutral());
  for (std::int64_t row = task.first; row < task.last; ++row) {
    const auto* from = x + task.offset + plan.reduced.offset(row);
    for (std::int64_t j = 0; j < task.num_columns; ++j) {
      totals[j] = R::join(totals[j], from[j]);
    }
  }
}

template <class R>
void run_reduce(const ReducePlan& plan, const std::byte* source,
                std::byte* target, std::byte* scratch) {
  using Total = typename R::Total;
  const auto* x = reinterpret_cast<const typename R::Element*>(source);
  auto* y = reinterpret_cast<typename R::Element*>(target);
  auto* partial = reinterpret_cast<Total*>(scratch);
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

template <class R>
void emit_reduce(NodeLowering& lowering, const Shape& axes) {
  const ReducePlan plan(lowering.input_shape(0), axes);
  const int x = lowering.read(0), y = lowering.write(0);
  int scratch = -1;
  if (plan.num_chunks > 1) {
    scratch = lowering.scratch(checked_bytes<typename R::Total>(
        checked_multiply(plan.num_chunks, plan.num_outputs, "scratch"),
        "scratch"));
  }
  lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
    std::byte* partial = scratch < 0 ? nullptr : at[scratch];
    return [=, x = at[x], y = at[y]] { run_reduce<R>(plan, x, y, partial); };
  });
}

/// Index of the first extreme value along one axis; a NaN wins, as in NumPy.
template <class R>
void run_index_of(const float* x, std::int32_t* y, std::int64_t outer,
                  std::int64_t length, std::int64_t inner) {
  const std::int64_t grain = std::max<std::int64_t>(1, 8192 / length);
  parallel_for(outer * inner, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const float* from = x + i / inner * length * inner + i % inner;
      float best = from[0];
      std::int32_t index = 0;
      for (std::int64_t k = 1; k < length && best == best; ++k) {
        const float value = from[k * inner];
        const float joined = R::join(best, value);
        if (joined == best) continue;
        best = joined;
        index = static_cast<std::int32_t>(k);
      }
      y[i] = index;
    }
  });
}

template <class R>
void emit_index_of(NodeLowering& lowering, std::int64_t axis) {
  const Shape& shape = lowering.input_shape(0);
  std::int64_t outer = 1, inner = 1;
  for (int i = 0; i < axis; ++i) outer *= shape[i];
  for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  const int x = lowering.read(0), y = lowering.write(0);
  lowering.emit(
      [=, length = shape[axis]](std::span<std::byte* const> at) -> BoundKernel {
        return [=, x = floats(at[x]), y = typed<std::int32_t>(at[y])] {
          run_index_of<R>(x, y, outer, length, inner);
        };
      });
}

}  // namespace

void lower_reduce(NodeLowering& lowering) {
  const auto& attrs = lowering.attrs<ReduceAttrs>();
  // clang-format off
  switch (attrs.type) {
    case ReductionType::None: return lowering.alias(0, 0);
    case ReductionType::Sum: return emit_reduce<Sum>(lowering, attrs.axes);
    case ReductionType::Mean: return emit_reduce<Mean>(lowering, attrs.axes);
    case ReductionType::Max: return emit_reduce<Max>(lowering, attrs.axes);
    case ReductionType::Min: return emit_reduce<Min>(lowering, attrs.axes);
    case ReductionType::L1Norm:
      return emit_reduce<AbsoluteSum>(lowering, attrs.axes);
    case ReductionType::Any: return emit_reduce<Any>(lowering, attrs.axes);
    case ReductionType::All: return emit_reduce<All>(lowering, attrs.axes);
    case ReductionType::ArgMax:
      return emit_index_of<Max>(lowering, attrs.axes[0]);
    case ReductionType::ArgMin:
      return emit_index_of<Min>(lowering, attrs.axes[0]);
  }
  // clang-format on
}

void lower_broadcast_to(NodeLowering& lowering) {
  const TensorDescriptor& from = lowering.input_desc(0);
  const Shape& to = lowering.result_shape(0);
  if (from.shape.num_elements() == to.num_elements()) {
    return lowering.alias(0, 0);
  }
  const auto copy =
      StridedCopy::broadcast(from.shape, to, size_of(from.data_type));
  const int x = lowering.read(0), y = lowering.write(0);
  lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
    return [=, x = at[x], y = at[y]] { copy(x, y); };
  });
}

void lower_squared_norm(NodeLowering& lowering) {
  emit_reduce<SquareSum>(lowering, /*axes=*/Shape());
}

}  // namespace traingraph::cpu
