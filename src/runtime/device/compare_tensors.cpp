// SPDX-License-Identifier: MIT
#include "runtime/device/compare_tensors.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "traingraph/error.h"

namespace traingraph {
namespace {

/// Infinite where only one is NaN, or infinities differ.
double distance(double got, double expected) {
  if (got == expected || (std::isnan(got) && std::isnan(expected))) return 0;
  const double d = std::abs(got - expected);
  return std::isnan(d) ? INFINITY : d;
}

Shape index_at(const Shape& shape, std::int64_t element) {
  Shape index = shape;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    index[axis] = element % shape[axis];
    element /= shape[axis];
  }
  return index;
}

std::string number(double value, const char* format = "%.9g") {
  char text[32];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

}  // namespace

double largest_magnitude(std::span<const float> values) {
  double largest = 0;
  for (float value : values) {
    if (!std::isfinite(value)) continue;
    largest = std::max(largest, std::abs(double{value}));
  }
  return largest;
}

void require_close(const ComparedTensor& tensor, std::span<const float> got,
                   std::span<const float> expected, Allowance allowed,
                   const DeviceNames& names) {
  std::int64_t worst = -1, num_wrong = 0;
  double largest = allowed.difference;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const bool have_overflowed =
        !std::isfinite(got[i]) && !std::isfinite(expected[i]);
    if (allowed.overflows && have_overflowed) continue;
    const double d = distance(got[i], expected[i]);
    if (d <= allowed.difference) continue;
    ++num_wrong;
    if (d <= largest && worst >= 0) continue;
    worst = static_cast<std::int64_t>(i);
    largest = d;
  }
  if (worst < 0) return;
  static constexpr const char* kPhases[] = {"forward", "gradient", "update"};
  throw DeviceError(ErrorInfo{
      .op = "verify",
      .node = tensor.layer,
      .what =
          std::string(names.device) + " and " + std::string(names.reference) +
          " disagree on the " + kPhases[static_cast<int>(tensor.phase)] +
          " tensor \"" + tensor.name + "\" at " +
          index_at(tensor.desc.shape, worst).to_string() + ": " +
          std::to_string(num_wrong) + " of " + std::to_string(got.size()) +
          " elements differ by more than " + number(allowed.difference, "%.3g"),
      .expected = number(expected[worst]),
      .got = number(got[worst]),
      .hint = "If this is rounding, raise verify_tolerance; else compile for "
              "the reference device and report it."});
}

}  // namespace traingraph
