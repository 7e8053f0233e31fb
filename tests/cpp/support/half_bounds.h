// SPDX-License-Identifier: MIT
// What a node in 16 bits may store, given what it read.
//
// A node reads what the device stored before it, so its reference starts from
// the very same numbers, and no error of an earlier node counts: what is left
// is the node's own. It computes some number x near the exact one, e, and
// stores round(x) (to nearest, ties to even, beyond the range to infinity). If
// |x - e| <= s then, as rounding is monotonic,
//
//     round(e - s) <= stored <= round(e + s)
//
// which asks for the exact bits wherever no number half way between two of the
// type lies within s of e, and lets overflow and subnormal numbers be what
// rounding makes of them. s is derived, not chosen; u is the unit roundoff of
// the type (2^-8 or 2^-11):
//
//   * Ops that compute in float32 have float32's error: the tolerance of the
//     case, which the tests in float32 hold them to.
//   * Products may round to the type before they multiply by alpha and add the
//     bias: a rounding before the last, of a number that is at most
//     c = |alpha| sum |x| |y| + |bias|, hence u c more. Their sums are
//     float32's as well.
//   * Recurrent ops of the CPU multiply in each step what they computed in the
//     one before, rounded to the type. So does the reference: then e is what
//     comes of these very roundings, and s float32's error. Where one of them
//     may go either way within that error, e is the exact number again, and s
//     what comes of an error of u in each operand, summed over all operands and
//     steps: u times their condition (operand_rounding.h). That is so to first
//     order; at kinks of activations such cases are left out.
//   * The LSTM's gradient may take the hidden states as they were stored or
//     make them from the stored gates and cells: as far as these are apart.
//
// Results that stay float32 (losses, statistics) have no rounding but
// float32's.
#pragma once

#include <optional>

#include "graph/program.h"
#include "support/reference.h"

namespace traingraph::testing {

/// e, and the part of s beside float32's error, for each result; no slack:
/// nothing.
struct HalfBounds {
  RefTensors expected = {}, slack = {};
};

/// `inputs`: what the node read, of which it changes its variables; `error`:
/// float32's; `rounds_steps`: do recurrent ops round what they multiply? Empty
/// where it would take long to find out; what is so large has smaller cases
/// beside it.
std::optional<HalfBounds> half_bounds(const Program& program, const Node& node,
                                      RefTensors& inputs, double error,
                                      bool rounds_steps);

/// round(e - s) <= stored <= round(e + s); false for a NaN where e is none.
bool is_rounded(double stored, double e, double s, DataType type);

}  // namespace traingraph::testing
