// SPDX-License-Identifier: MIT
// Questions about sizes: up to which of some is the machine right? What the
// code relies on is the limit that it has on this machine, so that one is
// always among them. Plain C++.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/metal_probes/probe.h"

namespace traingraph::metal::probes {

/// In ascending order.
using Sizes = std::vector<std::int64_t>;

/// "right up to 8, wrong at 9, right at 10". `problem_of` a size is empty, or
/// begins with "wrong". `most`, the code's limit, is asked as well, unless it
/// is beyond all of them.
std::string by_size(const Sizes& sizes, std::int64_t most,
                    const std::function<std::string(std::int64_t)>& problem_of);

/// What by_size() has to begin with where the code relies on `most`.
Beginnings right_up_to(const Sizes& sizes, std::int64_t most);

}  // namespace traingraph::metal::probes
