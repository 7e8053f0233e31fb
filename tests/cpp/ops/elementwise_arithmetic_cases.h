// SPDX-License-Identifier: MIT
// The arithmetic part of the elementwise cases.
#pragma once

#include "ops/cases.h"

namespace traingraph::testing {

void add_arithmetic_cases(OpCases& cases, Random& random);

}  // namespace traingraph::testing
