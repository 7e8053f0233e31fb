// SPDX-License-Identifier: MIT
// Ops that round, inside, what their products multiply: how a reference does
// the same, and what comes of roundings that may go either way.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "support/reference.h"

namespace traingraph::testing {

/// References hand each number through here that a device may round before it
/// is multiplied. It comes back as it is, but within the functions below.
double operand(double x);
std::vector<double> operands(std::vector<double> x);

/// What f() gives when its operands are rounded to `type`.
struct RoundedRun {
  RefTensors results;
  std::int64_t num_operands = 0;
  /// Is none of them within `error` times max(1, |x|) of the middle between two
  /// numbers of the type that are further apart? A device whose numbers are off
  /// by less rounds all of them as the reference does.
  bool is_certain = true;
};
RoundedRun run_rounded(DataType type, double error,
                       const std::function<RefTensors()>& f);

/// How far the results of f() may be off, to first order, where each operand
/// has a relative error of up to `unit`: the sum of what that of each of them
/// changes by itself. Calls f() once for each operand.
RefTensors changes_by_operands(double unit,
                               const std::function<RefTensors()>& f);

}  // namespace traingraph::testing
