// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "nodes/filter_state.h"

namespace traingraph::nodes {

/// All filters that the images depend on, also those whose derivative such a
/// filter is, in the order in which they were made.
std::vector<FilterState*> filters_behind(const std::vector<ImageNode>& images);

}  // namespace traingraph::nodes
