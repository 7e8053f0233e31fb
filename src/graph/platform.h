// SPDX-License-Identifier: MIT
// The platform's random numbers: one seed and one counter-based stream for all
// initializers of the process.
#pragma once

#include <cstdint>

namespace traingraph {

/// The seed that was set, else entropy chosen once per process.
std::uint64_t platform_seed();

/// A range of the initializers' random stream, given out once.
struct RandomRange {
  std::uint64_t seed = 0;
  std::uint64_t first_block = 0;
};

/// Reserves `num_blocks` Philox blocks. Any thread.
RandomRange reserve_random_blocks(std::uint64_t num_blocks);

}  // namespace traingraph
