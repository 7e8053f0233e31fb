// SPDX-License-Identifier: MIT
// Comparisons, logical not and fills: plain loops, because oneDNN has
// neither Booleans nor 64-bit integers.
#include <algorithm>

#include "base/convert.h"
#include "cpu/broadcast.h"
#include "cpu/ops/elementwise_lowering.h"
#include "formulas/arithmetic.h"

namespace traingraph::cpu {
namespace {

namespace arithmetic = formulas::arithmetic;
using enum ComparisonOperation;
using Boolean = std::uint8_t;

template <class T, class F>
void lower_comparison(UnitBuilder& unit, F f) {
  const int left = unit.read(0), right = unit.read(1);
  const int out = unit.write(0);
  emit(
      unit,
      [=, plan = plan_broadcast<2>(unit.result_shape(),
                                   {unit.input_shape(0), unit.input_shape(1)})](
          BindContext& at) -> BoundKernel {
        return [f, plan, x = typed<T>(at[left]), y = typed<T>(at[right]),
                z = typed<Boolean>(at[out])] {
          broadcast_binary<T>(plan, kCheapGrain, x, y, z,
                              [f](T a, T b) -> Boolean { return f(a, b); });
        };
      });
}

template <class T>
void lower_comparison_of(UnitBuilder& unit) {
  const auto lower = [&](auto f) { lower_comparison<T>(unit, f); };
  switch (unit.attrs<CompareAttrs>().operation) {
    case Equal:
      return lower(arithmetic::Equal());
    case NotEqual:
      return lower(arithmetic::NotEqual());
    case Less:
      return lower(arithmetic::Less());
    case Greater:
      return lower(arithmetic::Greater());
    case LessOrEqual:
      return lower(arithmetic::LessOrEqual());
    case GreaterOrEqual:
      return lower(arithmetic::GreaterOrEqual());
    case LogicalAND:
      return lower(arithmetic::LogicalAND());
    case LogicalOR:
      return lower(arithmetic::LogicalOR());
    case LogicalNAND:
      return lower(arithmetic::LogicalNAND());
    case LogicalNOR:
      return lower(arithmetic::LogicalNOR());
    case LogicalXOR:
      return lower(arithmetic::LogicalXOR());
    case LogicalNOT:
      throw UnsupportedError(ErrorInfo{.op = "compare",
                                       .node = unit.node().name,
                                       .what = "logical_not takes one operand",
                                       .hint = "Use the op logical_not."});
  }
}

}  // namespace

void lower_compare(UnitBuilder& unit) {
  const DataType type = unit.input_desc(0).data_type;
  switch (type) {
    case DataType::Int32:
      return lower_comparison_of<std::int32_t>(unit);
    case DataType::Int64:
      return lower_comparison_of<std::int64_t>(unit);
    case DataType::Boolean:
      return lower_comparison_of<Boolean>(unit);
    default:
      visit_floats<row::compare>(
          unit, type, [&]<class T>(T) { lower_comparison_of<T>(unit); });
  }
}

void lower_logical_not(UnitBuilder& unit) {
  const int in = unit.read(0), out = unit.write(0);
  unit.may_run_in_place(0, 0);
  emit(unit,
       [=, n = unit.result_shape().num_elements()](
           BindContext& at) -> BoundKernel {
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

void lower_fill(UnitBuilder& unit) {
  const float value = unit.attrs<FillAttrs>().value;
  const auto n = unit.result_shape().num_elements();
  visit_type(unit.result_desc().data_type, [&]<class T>(T) {
    const int out = unit.write(0);
    emit(unit, [=](BindContext& at) -> BoundKernel {
      return [n, value = convert<T>(value), y = typed<T>(at[out])] {
        parallel_for(n, kCheapGrain, [&](auto begin, auto end) {
          std::fill(y + begin, y + end, value);
        });
      };
    });
  });
}

}  // namespace traingraph::cpu
