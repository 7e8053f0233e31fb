// SPDX-License-Identifier: MIT
// The numbers that optimizers give their updates.
#pragma once

#include <cstdint>

namespace traingraph {

/// The last one that can be set, or be in a file.
inline constexpr std::uint64_t kMaxTimeSteps = std::uint64_t{1} << 62;

}  // namespace traingraph
