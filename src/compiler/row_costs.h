// SPDX-License-Identifier: MIT
// The phases of a row, to loop over.
#pragma once

#include <array>
#include <string_view>

#include "traingraph/insight.h"

namespace traingraph {

inline constexpr std::array<std::string_view, 3> kPhaseNames = {
    "forward", "gradient", "update"};
inline constexpr std::array<LayerCost LayerRow::*, 3> kPhaseCosts = {
    &LayerRow::forward, &LayerRow::gradient, &LayerRow::update};

/// Finds a phase among them.
inline std::size_t phase_index(std::string_view name) {
  std::size_t i = 0;
  while (i + 1 < kPhaseNames.size() && kPhaseNames[i] != name) ++i;
  return i;
}

inline void add_to(LayerCost& sum, const LayerCost& cost) {
  sum.flops += cost.flops;
  sum.bytes += cost.bytes;
  sum.seconds += cost.seconds;
  sum.spread += cost.spread;
  sum.limit_seconds += cost.limit_seconds;
}

}  // namespace traingraph
