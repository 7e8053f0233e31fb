// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "traingraph/insight.h"

namespace traingraph {

/// Each cost's seconds are the median of the runs', its spread what lies
/// between their quartiles. At least one run, all of the same units.
Profile median_of(std::vector<Profile> runs);

}  // namespace traingraph
