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

/// Marks where this thread finds the initializers' stream, to go back to.
struct RandomMark {
  std::uint64_t next_block = 0;
  std::uint64_t num_reserved = 0;  // blocks, ever, by this thread
};
RandomMark random_mark();
/// Gives back what this thread, the one of the mark, has reserved since; unless
/// another one has reserved blocks, too, for no number is given out twice.
void return_random_blocks(const RandomMark& mark);

}  // namespace traingraph
