// SPDX-License-Identifier: MIT
// Random numbers of Philox4x32-10. A state is seven 32-bit words: 1, a counter
// of 128 bits and a key of 64 bits, lower words first.
#pragma once

#include "../array.h"

namespace emulator {

inline constexpr std::int64_t kRandomStateWords = 7;

/// The state's words as Int32 elements.
std::vector<double> random_state(std::uint64_t counter_low,
                                 std::uint64_t counter_high, std::uint64_t key);

enum class Distribution { kUniform, kNormal, kTruncatedNormal };

struct RandomNumbers {
  Distribution distribution = Distribution::kUniform;
  double min = 0, max = 1;  // half open; closed for integers
  double mean = 0, standard_deviation = 1;
  bool is_integer = false;
};

/// Input: a state. Results: values and the state after them. More than four
/// dimensions give garbage, as on several systems.
Kernel random_numbers(const RandomNumbers& numbers);
/// Draws from a fixed state, and has no state as result.
Kernel random_numbers_of(const RandomNumbers& numbers,
                         std::vector<double> state);

}  // namespace emulator
