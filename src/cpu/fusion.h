// SPDX-License-Identifier: MIT
// Fusion: the engine computes an activation along with the product before it,
// so that the value between them is never in memory.
//
//   before: p = convolution(x, w); y = activation(p)
//   after:  y = convolution+activation(x, w)
//
// Legal when nothing else reads p. The activation's gradient does, unless it
// can be computed from y, as for ReLU, where y > 0 just when p > 0.
//
// The cast to float32 behind a product of 16 bits is part of it, too: its sums
// are float32 anyway.
//
//   before: dw16 = weights_gradient(g16, x16); dw = cast(dw16)
//   after:  dw = weights_gradient+cast(g16, x16)
//
// So it is for a sum, such as the gradient of a bias, which floats of 16 bits
// may not hold; a reshape may be between the two.
//
// It also sums the gradient of a convolution over all but the channels, which
// is the gradient of its bias, while it computes that of the weights.
//
// Our own loops compute what follows a batch normalisation along with it, and
// in the gradient what comes before:
//
//   before: n = norm(x); s = n + r; y = relu(s)
//   after:  y = norm+add+relu(x, r)
//
//   before: g = g1 + g2; gs = relu_gradient(g, y); dx = norm_gradient(gs, x)
//   after:  gs, dx = add+relu_gradient+norm_gradient(g1, g2, y, x)
//
// Legal when nothing else reads n and s, or g. The sum is optional; so is ReLU
// in the forward phase. gs is stored only if another node reads it too, such as
// a residual sum's gradient. Only then is g fused: storing gs makes up for
// reading g1 and g2 twice. A unit runs at the position of its first node, so
// all that its nodes read must exist there: r must be computed before norm.
//
// Gradients that join their update are other pairs, at the position of the
// update: compiler/joined_gradients.h.
#pragma once

#include <vector>

#include "cpu/lowering.h"

namespace traingraph::cpu {

/// By value: the nodes that read it, once for each of their inputs.
using Readers = std::vector<std::vector<NodeId>>;
Readers find_readers(const Program& program);

/// By node: the later node that may be fused with it; -1: none. Values of
/// `is_kept` are read by the host: they are not fused away.
std::vector<NodeId> find_fusions(const Program& program, const Readers& readers,
                                 const std::vector<bool>& is_kept);

/// Can its gradient be computed from its result alone?
bool has_gradient_of_result(const ActivationAttrs& attrs);

}  // namespace traingraph::cpu
