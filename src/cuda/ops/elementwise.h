// SPDX-License-Identifier: MIT
// Element-wise nodes, as other families use them.
#pragma once

#include <cstdint>

#include "lowering/fusion_search.h"
#include "lowering/unit_builder.h"

namespace traingraph::cuda {

inline constexpr unsigned kMapThreads = 256;
/// Blocks of kMapThreads for so many elements.
std::int64_t map_blocks(std::int64_t count, int elements_per_thread);

/// Joins element-wise nodes with their readers.
void join_elementwise(FusionSearch& search);
/// A unit of such nodes; `unit` is the last one.
void lower_elementwise(UnitBuilder& unit);

}  // namespace traingraph::cuda
