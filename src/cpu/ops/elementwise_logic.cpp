// SPDX-License-Identifier: MIT
// Comparisons, logical not and fills: plain loops, because oneDNN has
// neither Booleans nor 64-bit integers.
#include <algorithm>

#include "base/convert.h"
#include "cpu/broadcast.h"
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
