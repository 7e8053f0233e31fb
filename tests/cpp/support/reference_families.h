// SPDX-License-Identifier: MIT
// Inside the reference evaluator: one function per row of the op table and the
// loops they are written with.
#pragma once

#include <functional>
#include <utility>

#include "support/reference.h"

namespace traingraph::testing {

#define OP(Kind, name, Attrs) \
  RefTensors reference_##name(const Attrs& attrs, RefTensors& in);
#include "traingraph/ops.inc"
#undef OP

/// Calls visit(position) for every position of a shape, in row-major order.
template <class Visit>
void for_each_position(const Shape& shape, Visit visit) {
  Shape position = Shape::filled(shape.rank(), 0);
  const std::int64_t count = shape.num_elements();
  for (std::int64_t i = 0; i < count; ++i) {
    visit(std::as_const(position));
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      if (++position[axis] < shape[axis]) break;
      position[axis] = 0;
    }
  }
}

/// NumPy's broadcast of two shapes that fit.
Shape broadcast(const Shape& x, const Shape& y);
/// The element of `x` that NumPy would read for `position` of a broadcast.
Shape source_of(const Shape& x, const Shape& position);
inline double read_broadcast(const RefTensor& x, const Shape& position) {
  return x(source_of(x.shape, position));
}
/// `x` repeated to `shape`.
RefTensor expand(const RefTensor& x, const Shape& shape);

/// An activation of one number.
double activate(const ActivationAttrs& given, double x);

/// The step of central differences at x: small enough for the cubic term, big
/// enough for the rounding of doubles.
double difference_step(double x);

}  // namespace traingraph::testing
