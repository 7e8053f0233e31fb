// SPDX-License-Identifier: MIT
// Arithmetic of one and two floats, and comparisons: a struct for each case of
// ArithmeticOperation and ComparisonOperation, by its name.
#pragma once

#include "formulas/fast_math.h"
#include "formulas/portable.h"

namespace traingraph {
namespace formulas {
namespace arithmetic {

#define TRAINGRAPH_UNARY(Name, formula)                 \
  struct Name {                                         \
    float operator()(float x) const { return formula; } \
  };
TRAINGRAPH_UNARY(Floor, fast_floor(x))
TRAINGRAPH_UNARY(Round, fast_round(x))  // ties to even
TRAINGRAPH_UNARY(Ceil, fast_ceil(x))
TRAINGRAPH_UNARY(Sqrt, sqrt(x))
TRAINGRAPH_UNARY(Rsqrt, 1 / sqrt(x))
TRAINGRAPH_UNARY(Sin, sin(x))
TRAINGRAPH_UNARY(Cos, cos(x))
TRAINGRAPH_UNARY(Tan, tan(x))
TRAINGRAPH_UNARY(Asin, asin(x))
TRAINGRAPH_UNARY(Acos, acos(x))
TRAINGRAPH_UNARY(Atan, atan(x))
TRAINGRAPH_UNARY(Sinh, sinh(x))
TRAINGRAPH_UNARY(Cosh, cosh(x))
TRAINGRAPH_UNARY(Tanh, tanh(x))
TRAINGRAPH_UNARY(Asinh, asinh(x))
TRAINGRAPH_UNARY(Acosh, acosh(x))
TRAINGRAPH_UNARY(Atanh, atanh(x))
TRAINGRAPH_UNARY(Exp, fast_exp(x))
TRAINGRAPH_UNARY(Exp2, exp2(x))
TRAINGRAPH_UNARY(Log, log(x))
TRAINGRAPH_UNARY(Log2, log2(x))
#if !defined(__METAL_VERSION__)  // it has no erf
TRAINGRAPH_UNARY(Erf, erf(x))
#endif
#undef TRAINGRAPH_UNARY

#define TRAINGRAPH_BINARY(Name, formula)                         \
  struct Name {                                                  \
    float operator()(float x, float y) const { return formula; } \
  };
TRAINGRAPH_BINARY(Add, x + y)
TRAINGRAPH_BINARY(Subtract, x - y)
TRAINGRAPH_BINARY(Multiply, x* y)
TRAINGRAPH_BINARY(Divide, x / y)
TRAINGRAPH_BINARY(Pow, pow(x, y))
TRAINGRAPH_BINARY(MultiplyNoNaN, y == 0 ? 0 : x * y)
TRAINGRAPH_BINARY(DivideNoNaN, y == 0 ? 0 : x / y)
// A NaN wins, as in NumPy.
TRAINGRAPH_BINARY(Min, x <= y || x != x ? x : y)
TRAINGRAPH_BINARY(Max, x >= y || x != x ? x : y)
#undef TRAINGRAPH_BINARY

#define TRAINGRAPH_COMPARISON(Name, formula) \
  struct Name {                              \
    template <class T>                       \
    bool operator()(T x, T y) const {        \
      return formula;                        \
    }                                        \
  };
TRAINGRAPH_COMPARISON(Equal, x == y)
TRAINGRAPH_COMPARISON(NotEqual, x != y)
TRAINGRAPH_COMPARISON(Less, x < y)
TRAINGRAPH_COMPARISON(Greater, x > y)
TRAINGRAPH_COMPARISON(LessOrEqual, x <= y)
TRAINGRAPH_COMPARISON(GreaterOrEqual, x >= y)
TRAINGRAPH_COMPARISON(LogicalAND, (x != 0) & (y != 0))
TRAINGRAPH_COMPARISON(LogicalOR, (x != 0) | (y != 0))
TRAINGRAPH_COMPARISON(LogicalNAND, !((x != 0) & (y != 0)))
TRAINGRAPH_COMPARISON(LogicalNOR, !((x != 0) | (y != 0)))
TRAINGRAPH_COMPARISON(LogicalXOR, (x != 0) != (y != 0))
#undef TRAINGRAPH_COMPARISON

}  // namespace arithmetic
}  // namespace formulas
}  // namespace traingraph
