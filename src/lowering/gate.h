// SPDX-License-Identifier: MIT
// Gated activations: a tensor is split in two, and a function of one half is
// multiplied by a function of the other. Units read the whole, and compute
// again for the gradient what they did not keep:
//
//   before: a, b = split(x); s = tanh(a); t = sigmoid(b); y = s * t; ...
//           ds = g * t; da = tanh_gradient(ds, a)
//           dt = g * s; db = sigmoid_gradient(dt, b); dx = concatenate(da, db)
//   after:  y = split+tanh+sigmoid+multiply(x); ...
//           dx = multiply+...+concatenate(g, x)
//
// One half may be multiplied as it is. Legal when nothing else reads a, b, s
// and t, nor what is between g and dx.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "lowering/fusion_query.h"
#include "lowering/fusion_search.h"

namespace traingraph {

/// Joins gates whose functions `accepts` takes.
void join_gates(FusionSearch& search,
                const std::function<bool(const ActivationAttrs&)>& accepts);

/// Is the unit of `unit`, whose last node has the op `leader`, a gate or its
/// gradient?
bool is_gate(OpKind leader, const UnitBuilder& unit);

/// What such a unit computes.
struct Gate {
  using Functions = std::array<std::optional<ActivationAttrs>, 2>;

  explicit Gate(const UnitBuilder& head);

  bool is_gradient() const { return gradient.has_value(); }

  UnitBuilder split;  // of the forward phase
  UnitBuilder last;   // the product, or the gradient of x
  /// Of a gradient: the node that reads the product's, and as which input.
  std::optional<UnitBuilder> gradient;
  int gradient_input = 0;
  Functions functions;  // of the halves; none: the half itself
};

}  // namespace traingraph
