// SPDX-License-Identifier: MIT
// What the definition and the kernels of connectionist temporal classification
// have in common (ctc_loss.h of the public headers has the formula).
#pragma once

#include <cstdint>

namespace traingraph::ctc {

/// Inputs of the op; those of its gradient come behind that of the result.
enum Input { kPrediction, kLabels, kLengths, kLabelLengths };

/// What may stand behind the labels of a sample that has fewer than others.
inline constexpr std::int64_t kPadding = -1;

/// A path is at one of these at each step: blank, label 0, blank, label 1, up
/// to the last blank. It stays there, goes to the next, or jumps over a blank
/// between labels that differ.
constexpr std::int64_t num_states(std::int64_t labels) {
  return 2 * labels + 1;
}

}  // namespace traingraph::ctc
