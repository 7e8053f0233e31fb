// SPDX-License-Identifier: MIT
// Arithmetic of one and two operands, and select. oneDNN's binary primitive is
// slower than a loop on row-major data and knows none of the other functions.
#include <cmath>
#include <limits>

#include "cpu/broadcast.h"
#include "cpu/engine/activation.h"
#include "cpu/ops/elementwise_lowering.h"
#include "cpu/ops/elementwise_rows.h"
#include "cpu/vector_math.h"

namespace traingraph::cpu {
namespace {

using enum ArithmeticOperation;

template <class F>
void lower_function_of(UnitBuilder& unit, F f) {
  lower_map(unit, kCostlyGrain, f);
}

template <class F>
void lower_pairs(UnitBuilder& unit, F f, std::int64_t grain) {
  if (unit.input_shape(0) == unit.input_shape(1)) {
    const bool keeps_zero = f(0.0f, 0.0f) == 0.0f;
    return lower_zip(unit, grain, common_layout(unit, 0, 1, keeps_zero), f);
  }
  const int left = unit.read(0), right = unit.read(1);
  const int out = unit.write(0);
  for (int i = 0; i < 2; ++i) {
    if (unit.input_shape(i) == unit.result_shape()) {
      unit.may_run_in_place(0, i);
    }
  }
  const auto plan = plan_broadcast<2>(
      unit.result_shape(), {unit.input_shape(0), unit.input_shape(1)});
  const DataType type = unit.result_desc().data_type;
  visit_any_float(unit, type, [&]<class T>(T) {
    emit(unit, [=](BindContext& at) -> BoundKernel {
      return [f, plan, grain, x = typed<T>(at[left]), y = typed<T>(at[right]),
              z = typed<T>(at[out])] {
        if constexpr (is_exact<T>) {
          broadcast_binary<T>(plan, grain, x, y, z, f);
        } else {
          run_broadcast_zip(plan, grain, x, y, z, {zip_row<F>, &f});
        }
      };
    });
  });
}

/// Calls use(f) with a function of one element.
template <class Use>
void with_unary(ArithmeticOperation operation, Use use) {
  switch (operation) {
    case Floor:
      return use([](float x) { return fast_floor(x); });
    case Round:  // ties to even
      return use([](float x) { return fast_round(x); });
    case Ceil:
      return use([](float x) { return fast_ceil(x); });
    case Sqrt:
      return use([](float x) { return std::sqrt(x); });
    case Rsqrt:
      return use([](float x) { return 1 / std::sqrt(x); });
    case Sin:
      return use([](float x) { return std::sin(x); });
    case Cos:
      return use([](float x) { return std::cos(x); });
    case Tan:
      return use([](float x) { return std::tan(x); });
    case Asin:
      return use([](float x) { return std::asin(x); });
    case Acos:
      return use([](float x) { return std::acos(x); });
    case Atan:
      return use([](float x) { return std::atan(x); });
    case Sinh:
      return use([](float x) { return std::sinh(x); });
    case Cosh:
      return use([](float x) { return std::cosh(x); });
    case Tanh:
      return use([](float x) { return std::tanh(x); });
    case Asinh:
      return use([](float x) { return std::asinh(x); });
    case Acosh:
      return use([](float x) { return std::acosh(x); });
    case Atanh:
      return use([](float x) { return std::atanh(x); });
    case Exp:  // oneDNN makes infinity of NaN
      return use([](float x) { return fast_exp(x); });
    case Exp2:
      return use([](float x) { return std::exp2(x); });
    case Log:
      // oneDNN's is off by up to 4e-6, which near x = 1 is most of the result.
      return use([](float x) { return std::log(x); });
    case Log2:
      return use([](float x) { return std::log2(x); });
    default:
      throw InternalError(ErrorInfo{.op = "unary",
                                    .what = "the operation takes two operands",
                                    .got = std::string(to_string(operation))});
  }
}

/// Calls use(f, grain) with a function of two elements.
template <class Use>
void with_binary(ArithmeticOperation operation, Use use) {
  switch (operation) {
    case Add:
      return use([](float x, float y) { return x + y; }, kCheapGrain);
    case Subtract:
      return use([](float x, float y) { return x - y; }, kCheapGrain);
    case Multiply:
      return use([](float x, float y) { return x * y; }, kCheapGrain);
    case Divide:
      return use([](float x, float y) { return x / y; }, kCheapGrain);
    case Pow:
      return use([](float x, float y) { return std::pow(x, y); }, kCostlyGrain);
    case MultiplyNoNaN:
      return use([](float x, float y) { return y == 0 ? 0 : x * y; },
                 kCheapGrain);
    case DivideNoNaN:
      return use([](float x, float y) { return y == 0 ? 0 : x / y; },
                 kCheapGrain);
    case Min:  // a NaN wins, as in NumPy
      return use(
          [](float x, float y) { return x <= y || std::isnan(x) ? x : y; },
          kCheapGrain);
    case Max:
      return use(
          [](float x, float y) { return x >= y || std::isnan(x) ? x : y; },
          kCheapGrain);
    default:
      throw InternalError(ErrorInfo{.op = "binary",
                                    .what = "the operation takes one operand",
                                    .got = std::string(to_string(operation))});
  }
}

/// z[i] = c[i] ? x[i] : y[i]
template <class T>
void select(const BroadcastPlan<3>& plan, const std::uint8_t* c, const T* x,
            const T* y, T* z) {
  const auto step = plan.strides[plan.rank - 1];
  broadcast_rows(plan, kCheapGrain,
                 [&](std::int64_t to, const auto& from, std::int64_t count) {
                   for (std::int64_t i = 0; i < count; ++i) {
                     z[to + i] = c[from[0] + i * step[0]] != 0
                                     ? x[from[1] + i * step[1]]
                                     : y[from[2] + i * step[2]];
                   }
                 });
}

}  // namespace

void lower_unary(UnitBuilder& unit) {
  const ArithmeticOperation operation = unit.attrs<ArithmeticAttrs>().operation;
  if (operation == Tanh) {
    if (unit.result_desc().data_type != DataType::Float32) {
      return lower_function_of(unit, [](float x) { return fast_tanh(x); });
    }
    if (lower_engine_tanh(unit)) return;
  }
  with_unary(operation, [&](auto f) { lower_function_of(unit, f); });
}

void lower_binary(UnitBuilder& unit) {
  with_binary(unit.attrs<ArithmeticAttrs>().operation,
              [&](auto f, std::int64_t grain) { lower_pairs(unit, f, grain); });
}

RowFunction unary_row(ArithmeticOperation operation) {
  RowFunction row;
  with_unary(operation, [&](auto f) { row = row_of_map(f, kCostlyGrain); });
  return row;
}

RowFunction binary_row(ArithmeticOperation operation) {
  RowFunction row;
  with_binary(operation,
              [&](auto f, std::int64_t grain) { row = row_of_zip(f, grain); });
  return row;
}

void lower_select(UnitBuilder& unit) {
  const int condition = unit.read(0);
  const int left = unit.read(1), right = unit.read(2);
  const int out = unit.write(0);
  for (int i = 1; i < 3; ++i) {
    if (unit.input_shape(i) == unit.result_shape()) {
      unit.may_run_in_place(0, i);
    }
  }
  const auto plan = plan_broadcast<3>(
      unit.result_shape(),
      {unit.input_shape(0), unit.input_shape(1), unit.input_shape(2)});
  const DataType type = unit.result_desc().data_type;
  visit_any_float(unit, type, [&]<class T>(T) {
    emit(unit, [=](BindContext& at) -> BoundKernel {
      return [plan, c = typed<std::uint8_t>(at[condition]),
              x = typed<T>(at[left]), y = typed<T>(at[right]),
              z = typed<T>(at[out])] { select(plan, c, x, y, z); };
    });
  });
}

}  // namespace traingraph::cpu
