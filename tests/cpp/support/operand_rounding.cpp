// SPDX-License-Identifier: MIT
#include "support/operand_rounding.h"

#include <algorithm>
#include <cmath>

#include "support/half_rounding.h"

namespace traingraph::testing {
namespace {

/// What is done with operands, and what was seen of them.
struct Operands {
  std::int64_t changed = -1;  // the number of the one that is off
  double factor = 1;          // by this
  DataType type = DataType::Float32;
  double error = 0;
  bool rounds = false;

  std::int64_t count = 0;
  bool is_certain = true;
};

thread_local Operands now;

RefTensors run(const Operands& operands, const std::function<RefTensors()>& f) {
  now = operands;
  return f();
}

}  // namespace

double operand(double x) {
  const std::int64_t number = now.count++;
  if (now.rounds) {
    const double error = now.error * std::max(1.0, std::abs(x));
    // A step between small numbers is no more than that error.
    const double apart =
        round_to(now.type, x + error) - round_to(now.type, x - error);
    if (apart > 4 * error) now.is_certain = false;
    return round_to(now.type, x);
  }
  return number == now.changed ? x * now.factor : x;
}

std::vector<double> operands(std::vector<double> x) {
  for (double& each : x) each = operand(each);
  return x;
}

RoundedRun run_rounded(DataType type, double error,
                       const std::function<RefTensors()>& f) {
  RoundedRun made{.results =
                      run({.type = type, .error = error, .rounds = true}, f)};
  made.num_operands = now.count;
  made.is_certain = now.is_certain;
  now = {};
  return made;
}

RefTensors changes_by_operands(double unit,
                               const std::function<RefTensors()>& f) {
  const RefTensors exact = run({}, f);
  const std::int64_t count = now.count;
  RefTensors changes = exact;
  for (RefTensor& result : changes) std::ranges::fill(result.data, 0.0);
  for (std::int64_t i = 0; i < count; ++i) {
    const RefTensors off = run({.changed = i, .factor = 1 + unit}, f);
    for (std::size_t r = 0; r < exact.size(); ++r) {
      for (std::size_t k = 0; k < exact[r].data.size(); ++k) {
        changes[r].data[k] += std::abs(off[r].data[k] - exact[r].data[k]);
      }
    }
  }
  now = {};
  return changes;
}

}  // namespace traingraph::testing
