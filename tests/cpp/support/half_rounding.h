// SPDX-License-Identifier: MIT
// Rounding to a stored type, of doubles: what the references of ops in 16 bits
// are compared by. Written from the definition of the formats and with none of
// the library's conversions.
#pragma once

#include "traingraph/types.h"

namespace traingraph::testing {

/// Largest relative error of rounding to nearest: 2^-p with p significant bits.
double unit_roundoff(DataType type);

/// To nearest, ties to even; beyond the range to infinity. What is no float
/// comes back as it is.
double round_to(DataType type, double value);

}  // namespace traingraph::testing
