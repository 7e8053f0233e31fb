// SPDX-License-Identifier: MIT
// Activations of a few floats, for kernels that compute them along with
// something else.
#pragma once

#include <cstdint>

#include "traingraph/op_attrs.h"

namespace traingraph::cpu {

/// y = f(x); may be in place.
void activate_row(const ActivationAttrs& attrs, const float* x, float* y,
                  std::int64_t n);
/// f'(x)
void slope_of_row(const ActivationAttrs& attrs, const float* x, float* slope,
                  std::int64_t n);

}  // namespace traingraph::cpu
