// SPDX-License-Identifier: MIT
// Activations, also for ops that compute them along with something else.
#pragma once

#import "metal/graph_builder.h"

namespace traingraph::metal {

T activation_value(GraphBuilder& b, const ActivationAttrs& attrs, T x);
/// The derivative by x.
T activation_slope(GraphBuilder& b, const ActivationAttrs& attrs, T x);

}  // namespace traingraph::metal
