// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <string>

namespace traingraph {

/// Formats "rank 3".
std::string rank_text(std::integral auto rank) {
  return "rank " + std::to_string(rank);
}

}  // namespace traingraph
