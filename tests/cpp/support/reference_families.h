// SPDX-License-Identifier: MIT
// Inside the reference evaluator: one function per row of the op table and the
// loops they are written with.
#pragma once

#include <functional>

#include "support/reference.h"

namespace traingraph::testing {

#define OP(Kind, name, Attrs) \
  RefTensors reference_##name(const Attrs& attrs, RefTensors& in);
#include "traingraph/ops.inc"
#undef OP

/// Calls visit(position) for every position of a shape, in row-major order.
void for_each_position(const Shape& shape,
                       const std::function<void(const Shape&)>& visit);

/// NumPy's broadcast of two shapes that fit.
Shape broadcast(const Shape& x, const Shape& y);
/// The element of `x` that NumPy would read for `position` of a broadcast.
Shape source_of(const Shape& x, const Shape& position);
inline double read_broadcast(const RefTensor& x, const Shape& position) {
  return x(source_of(x.shape, position));
}
/// `x` repeated to `shape`.
RefTensor expand(const RefTensor& x, const Shape& shape);

/// The step of central differences at x: small enough for the cubic term, big
/// enough for the rounding of doubles.
double difference_step(double x);

}  // namespace traingraph::testing
