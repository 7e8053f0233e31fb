// SPDX-License-Identifier: MIT
#include "tests/metal_probes/sizes.h"

#include <algorithm>

namespace traingraph::metal::probes {
namespace {

Sizes with_limit(Sizes sizes, std::int64_t most) {
  if (most < sizes.back() && std::ranges::find(sizes, most) == sizes.end()) {
    sizes.insert(std::ranges::lower_bound(sizes, most), most);
  }
  return sizes;
}

constexpr const char* kAll = " (the largest)";

/// What follows tells 10 from 100.
std::string beginning(std::int64_t size) {
  return "right up to " + std::to_string(size);
}

}  // namespace

std::string by_size(
    const Sizes& sizes, std::int64_t most,
    const std::function<std::string(std::int64_t)>& problem_of) {
  std::string first, others;
  for (const std::int64_t size : with_limit(sizes, most)) {
    const std::string problem = problem_of(size);
    if (problem.empty() && others.empty()) {
      first = beginning(size);
      continue;
    }
    others += others.empty() && first.empty() ? "" : ", ";
    others +=
        (problem.empty() ? "right" : problem) + " at " + std::to_string(size);
  }
  return first + (others.empty() ? kAll : others);
}

Beginnings right_up_to(const Sizes& sizes, std::int64_t most) {
  const Sizes all = with_limit(sizes, most);
  Beginnings expected;
  for (const std::int64_t size : all) {
    const bool is_last = size == all.back();
    if (size >= most || is_last) {
      expected.push_back(beginning(size) + (is_last ? kAll : ","));
    }
  }
  return expected;
}

}  // namespace traingraph::metal::probes
