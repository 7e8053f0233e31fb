// SPDX-License-Identifier: MIT
// Phase: the part of a training step that a node belongs to.
#pragma once

#include <cstdint>

namespace traingraph {

/// Phases say when nodes run. A step is Forward, Gradient, Update; nothing
/// reads what a later phase computes.
enum class Phase : std::uint8_t { Forward, Gradient, Update };

}  // namespace traingraph
