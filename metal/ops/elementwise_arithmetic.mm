// SPDX-License-Identifier: MIT
// Arithmetic of one and two operands, select and dropout.
#import "metal/graph_builder.h"
#include "metal/kernels/dropout.h"
#import "metal/ops/layout_moves.h"

namespace traingraph::metal {
namespace {

using enum ArithmeticOperation;

/// 0 wherever y is 0, whatever z is there.
T unless_zero(GraphBuilder& b, T y, T z) {
  return b.select(b.equal(y, 0.0), 0.0, z);
}

T unary(GraphBuilder& b, T x) {
#define TRAINGRAPH_CASE(operation, selector) \
  case operation:                            \
    return [b.graph() selector##WithTensor:x name:b.name()];
  switch (b.attrs<ArithmeticAttrs>().operation) {
    TRAINGRAPH_CASE(Floor, floor)
    TRAINGRAPH_CASE(Round, rint)  // ties to even
    TRAINGRAPH_CASE(Ceil, ceil)
    TRAINGRAPH_CASE(Sqrt, squareRoot)
    TRAINGRAPH_CASE(Sin, sin)
    TRAINGRAPH_CASE(Cos, cos)
    TRAINGRAPH_CASE(Tan, tan)
    TRAINGRAPH_CASE(Asin, asin)
    TRAINGRAPH_CASE(Acos, acos)
    TRAINGRAPH_CASE(Atan, atan)
    TRAINGRAPH_CASE(Sinh, sinh)
    TRAINGRAPH_CASE(Cosh, cosh)
    TRAINGRAPH_CASE(Tanh, tanh)
    TRAINGRAPH_CASE(Asinh, asinh)
    TRAINGRAPH_CASE(Acosh, acosh)
    TRAINGRAPH_CASE(Atanh, atanh)
    TRAINGRAPH_CASE(Exp, exponent)
    TRAINGRAPH_CASE(Exp2, exponentBase2)
    TRAINGRAPH_CASE(Log, logarithm)
    TRAINGRAPH_CASE(Log2, logarithmBase2)
    TRAINGRAPH_CASE(Erf, erf)
    case ArithmeticOperation::Rsqrt:
      // The call for it is deprecated in the SDK of macOS 15; the one that
      // replaces it is in no older one.
      return b.div(1.0, b.sqrt(x));
    default:
      return nil;  // the shape rule has refused it
  }
#undef TRAINGRAPH_CASE
}

T binary(GraphBuilder& b, T x, T y) {
  switch (b.attrs<ArithmeticAttrs>().operation) {
    case Add:
      return b.add(x, y);
    case Subtract:
      return b.sub(x, y);
    case Multiply:
      return b.mul(x, y);
    case Divide:
      return b.div(x, y);
    case Pow:
      return b.pow(x, y);
    case MultiplyNoNaN:
      return unless_zero(b, y, b.mul(x, y));
    case DivideNoNaN:
      return unless_zero(b, y, b.div(x, y));
    case Min:
      return b.min(x, y);
    case Max:
      return b.max(x, y);
    default:
      return nil;  // the shape rule has refused it
  }
}

/// Integers: those of MPSGraph that propagate NaN are for floats.
T integers(GraphBuilder& b, T x, T y) {
  switch (b.attrs<ArithmeticAttrs>().operation) {
    case Min:
      return b.select(b.less(x, y), x, y);
    case Max:
      return b.select(b.less(x, y), y, x);
    case Divide: {
      // What it makes of 0 is not documented.
      T is_zero = b.equal(y, 0.0);
      return b.select(is_zero, 0.0, b.div(x, b.select(is_zero, 1.0, y)));
    }
    default:
      return binary(b, x, y);
  }
}

}  // namespace

void lower_unary(GraphBuilder& b) { b.set(unary(b, b.input(0))); }

void lower_binary(GraphBuilder& b) {
  T x = b.input(0), y = b.input(1);
  b.set(is_float(b.result_desc().data_type) ? binary(b, x, y)
                                            : integers(b, x, y));
}

void lower_stop_gradient(GraphBuilder& b) { b.set(b.input(0)); }

/// Booleans travel as numbers.
void lower_select(GraphBuilder& b) {
  set_moved(b, b.select(b.input(0), moved_input(b, 1), moved_input(b, 2)));
}

/// A kernel of ours makes the mask. What is dropped is 0 even where the input
/// is not finite.
void lower_dropout(GraphBuilder& b) {
  const auto& attrs = b.attrs<DropoutAttrs>();
  if (attrs.rate == 0) return b.set(b.input(0));
  b.set(b.select(b.mask(), b.mul(b.input(0), kept_scale(attrs)), 0.0));
}

}  // namespace traingraph::metal
