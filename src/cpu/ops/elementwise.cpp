// SPDX-License-Identifier: MIT
// Arithmetic of one and two operands, and select. oneDNN's binary primitive is
// slower than a loop on row-major data and knows none of the other functions.
#include "cpu/broadcast.h"
#include "cpu/engine/activation.h"
#include "cpu/ops/elementwise_lowering.h"
#include "cpu/ops/elementwise_rows.h"
#include "cpu/vector_math.h"
#include "formulas/arithmetic.h"

namespace traingraph::cpu {
namespace {

namespace arithmetic = formulas::arithmetic;
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
      return use(arithmetic::Floor());
    case Round:
      return use(arithmetic::Round());
    case Ceil:
      return use(arithmetic::Ceil());
    case Sqrt:
      return use(arithmetic::Sqrt());
    case Rsqrt:
      return use(arithmetic::Rsqrt());
    case Sin:
      return use(arithmetic::Sin());
    case Cos:
      return use(arithmetic::Cos());
    case Tan:
      return use(arithmetic::Tan());
    case Asin:
      return use(arithmetic::Asin());
    case Acos:
      return use(arithmetic::Acos());
    case Atan:
      return use(arithmetic::Atan());
    case Sinh:
      return use(arithmetic::Sinh());
    case Cosh:
      return use(arithmetic::Cosh());
    case Tanh:
      return use(arithmetic::Tanh());
    case Asinh:
      return use(arithmetic::Asinh());
    case Acosh:
      return use(arithmetic::Acosh());
    case Atanh:
      return use(arithmetic::Atanh());
    case Exp:  // oneDNN makes infinity of NaN
      return use(arithmetic::Exp());
    case Exp2:
      return use(arithmetic::Exp2());
    case Log:
      // oneDNN's is off by up to 4e-6, which near x = 1 is most of the result.
      return use(arithmetic::Log());
    case Log2:
      return use(arithmetic::Log2());
    case Erf:
      return use(arithmetic::Erf());
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
      return use(arithmetic::Add(), kCheapGrain);
    case Subtract:
      return use(arithmetic::Subtract(), kCheapGrain);
    case Multiply:
      return use(arithmetic::Multiply(), kCheapGrain);
    case Divide:
      return use(arithmetic::Divide(), kCheapGrain);
    case Pow:
      return use(arithmetic::Pow(), kCostlyGrain);
    case MultiplyNoNaN:
      return use(arithmetic::MultiplyNoNaN(), kCheapGrain);
    case DivideNoNaN:
      return use(arithmetic::DivideNoNaN(), kCheapGrain);
    case Min:
      return use(arithmetic::Min(), kCheapGrain);
    case Max:
      return use(arithmetic::Max(), kCheapGrain);
    default:
      throw InternalError(ErrorInfo{.op = "binary",
                                    .what = "the operation takes one operand",
                                    .got = std::string(to_string(operation))});
  }
}

// Integers, of 32 or 64 bits: exact modulo 2 to that number.
template <class T>
using Bits = std::make_unsigned_t<T>;

template <class T>
T wrap(Bits<T> bits) {
  return static_cast<T>(bits);
}

/// Cuts the fraction off. There is no trap: 0 where y is 0, and the lowest
/// number by -1 is itself.
template <class T>
T quotient(T x, T y) {
  if (y == 0) return 0;
  return y == -1 ? wrap<T>(Bits<T>{0} - static_cast<Bits<T>>(x)) : x / y;
}

/// Calls use(f) with a function of two integers.
template <class T, class Use>
void with_integers(ArithmeticOperation operation, Use use) {
  const auto by_bits = [&](auto f) {
    use([f](T x, T y) {
      return wrap<T>(f(static_cast<Bits<T>>(x), static_cast<Bits<T>>(y)));
    });
  };
  switch (operation) {
    case Add:
      return by_bits([](auto x, auto y) { return x + y; });
    case Subtract:
      return by_bits([](auto x, auto y) { return x - y; });
    case Multiply:
      return by_bits([](auto x, auto y) { return x * y; });
    case Divide:
      return use(quotient<T>);
    case Min:
      return use([](T x, T y) { return std::min(x, y); });
    case Max:
      return use([](T x, T y) { return std::max(x, y); });
    default:
      throw InternalError(ErrorInfo{.op = "binary",
                                    .what = "the operation takes no integers",
                                    .got = std::string(to_string(operation))});
  }
}

template <class T>
void lower_integers(UnitBuilder& unit) {
  const int left = unit.read(0), right = unit.read(1);
  const int out = unit.write(0);
  const auto plan = plan_broadcast<2>(
      unit.result_shape(), {unit.input_shape(0), unit.input_shape(1)});
  with_integers<T>(unit.attrs<ArithmeticAttrs>().operation, [&](auto f) {
    emit(unit, [=](BindContext& at) -> BoundKernel {
      return [f, plan, x = typed<T>(at[left]), y = typed<T>(at[right]),
              z = typed<T>(at[out])] {
        broadcast_binary<T>(plan, kCheapGrain, x, y, z, f);
      };
    });
  });
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
  const DataType type = unit.result_desc().data_type;
  if (type == DataType::Int32) return lower_integers<std::int32_t>(unit);
  if (type == DataType::Int64) return lower_integers<std::int64_t>(unit);
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
  visit_moved<row::select>(unit, unit.result_desc().data_type, [&]<class T>(T) {
    emit(unit, [=](BindContext& at) -> BoundKernel {
      return [plan, c = typed<std::uint8_t>(at[condition]),
              x = typed<T>(at[left]), y = typed<T>(at[right]),
              z = typed<T>(at[out])] { select(plan, c, x, y, z); };
    });
  });
}

}  // namespace traingraph::cpu
