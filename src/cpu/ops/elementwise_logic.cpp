// SPDX-License-Identifier: MIT
// Comparisons, logical not, casts and fills: plain loops, because oneDNN has
// neither Booleans nor 64-bit integers.
#include <algorithm>

#include "base/convert.h"
#include "cpu/broadcast.h"
#include "cpu/native_types.h"
#include "cpu/ops/elementwise_lowering.h"

namespace traingraph::cpu {
namespace {

using enum ComparisonOperation;
using Boolean = std::uint8_t;

template <class T, class F>
void lower_comparison(NodeLowering& lowering, F f) {
  const int left = lowering.read(0), right = lowering.read(1);
  const int out = lowering.write(0);
  lowering.emit([=, plan = plan_broadcast<2>(
                        lowering.result_shape(),
                        {lowering.input_shape(0), lowering.input_shape(1)})](
                    std::span<std::byte* const> at) -> BoundKernel {
    return [f, plan, x = typed<T>(at[left]), y = typed<T>(at[right]),
            z = typed<Boolean>(at[out])] {
      broadcast_binary<T>(plan, kCheapGrain, x, y, z,
                          [f](T a, T b) -> Boolean { return f(a, b); });
    };
  });
}

template <class T>
void lower_comparison_of(NodeLowering& lowering) {
  const auto lower = [&](auto f) { lower_comparison<T>(lowering, f); };
  switch (lowering.attrs<CompareAttrs>().operation) {
    case Equal:
      return lower([](T x, T y) { return x == y; });
    case NotEqual:
      return lower([](T x, T y) { return x != y; });
    case Less:
      return lower([](T x, T y) { return x < y; });
    case Greater:
      return lower([](T x, T y) { return x > y; });
    case LessOrEqual:
      return lower([](T x, T y) { return x <= y; });
    case GreaterOrEqual:
      return lower([](T x, T y) { return x >= y; });
    case LogicalAND:
      return lower([](T x, T y) { return (x != 0) & (y != 0); });
    case LogicalOR:
      return lower([](T x, T y) { return (x != 0) | (y != 0); });
    case LogicalNAND:
      return lower([](T x, T y) { return !((x != 0) & (y != 0)); });
    case LogicalNOR:
      return lower([](T x, T y) { return !((x != 0) | (y != 0)); });
    case LogicalXOR:
      return lower([](T x, T y) { return (x != 0) != (y != 0); });
    case LogicalNOT:
      throw UnsupportedError(ErrorInfo{.op = "compare",
                                       .node = lowering.node().name,
                                       .what = "logical_not takes one operand",
                                       .hint = "Use the op logical_not."});
  }
}

/// Between floats of 16 and 32 bits in any layout, else in the plain one.
std::pair<dnnl::memory::desc, dnnl::memory::desc> cast_layouts(
    const NodeLowering& lowering) {
  const TensorDescriptor& source = lowering.input_desc(0);
  const TensorDescriptor& target = lowering.result_desc();
  const auto from = lowering.layout(0);
  const auto to = layout_like(from, target);
  const bool keeps = is_float(source.data_type) && is_float(target.data_type) &&
                     !is_plain(to) &&
                     same_layout(layout_like(to, source), from);
  if (keeps) return {from, to};
  return {lowering.plain(source), lowering.plain(target)};
}

template <class From, class To>
void lower_cast_between(NodeLowering& lowering) {
  const auto [from, to] = cast_layouts(lowering);
  const int in = lowering.read(0, from), out = lowering.write(0, to);
  if constexpr (sizeof(From) == sizeof(To)) lowering.may_run_in_place(0, 0);
  lowering.emit(
      [=, n = num_elements(to)](std::span<std::byte* const> at) -> BoundKernel {
        return [n, x = typed<Stored<From>>(at[in]), y = typed<To>(at[out])] {
          parallel_for(n, kCheapGrain, [&](auto begin, auto end) {
            for (auto i = begin; i < end; ++i) {
              y[i] = convert<To>(static_cast<From>(x[i]));
            }
          });
        };
      });
}

}  // namespace

void lower_compare(NodeLowering& lowering) {
  const DataType type = lowering.input_desc(0).data_type;
  switch (type) {
    case DataType::Int32:
      return lower_comparison_of<std::int32_t>(lowering);
    case DataType::Int64:
      return lower_comparison_of<std::int64_t>(lowering);
    case DataType::Boolean:
      return lower_comparison_of<Boolean>(lowering);
    default:
      visit_float_type(lowering, type,
                       [&]<class T>(T) { lower_comparison_of<T>(lowering); });
  }
}

void lower_logical_not(NodeLowering& lowering) {
  const int in = lowering.read(0), out = lowering.write(0);
  lowering.may_run_in_place(0, 0);
  lowering.emit([=, n = lowering.result_shape().num_elements()](
                    std::span<std::byte* const> at) -> BoundKernel {
    return [n, x = typed<Boolean>(at[in]), y = typed<Boolean>(at[out])] {
      parallel_for(
          n, 4 * kCheapGrain,
          [&](auto begin, auto end) {
            for (auto i = begin; i < end; ++i) y[i] = x[i] == 0;
          },
          /*multiple=*/64);
    };
  });
}

void lower_cast(NodeLowering& lowering) {
  const DataType from = lowering.input_desc(0).data_type;
  const DataType to = lowering.result_desc().data_type;
  if (from == to) return lowering.alias(0, 0);
  // Products want blocks: one reorder rounds and moves what is in memory
  // anyway.
  const bool narrows = from == DataType::Float32 && to != from && is_float(to);
  if (narrows && has_products(to) && lowering.defer_cast()) return;
  visit_type(lowering, from, [&]<class From>(From) {
    visit_type(lowering, to,
               [&]<class To>(To) { lower_cast_between<From, To>(lowering); });
  });
}

void lower_fill(NodeLowering& lowering) {
  const float value = lowering.attrs<FillAttrs>().value;
  const auto n = lowering.result_shape().num_elements();
  visit_type(lowering, lowering.result_desc().data_type, [&]<class T>(T) {
    const int out = lowering.write(0);
    lowering.emit([=](std::span<std::byte* const> at) -> BoundKernel {
      return [n, value = convert<T>(value), y = typed<T>(at[out])] {
        parallel_for(n, kCheapGrain, [&](auto begin, auto end) {
          std::fill(y + begin, y + end, value);
        });
      };
    });
  });
}

}  // namespace traingraph::cpu
