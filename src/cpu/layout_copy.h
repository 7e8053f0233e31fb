// SPDX-License-Identifier: MIT
// Copies between layouts: by the engine where it is good at them, else by loops
// of ours.
#pragma once

#include "cpu/engine/reorder.h"

namespace traingraph::cpu {

/// As make_reorder(), which knows floats and the layouts of convolutions best;
/// elements of any type between any strides.
Reorder make_layout_copy(const Layout& from, const Layout& to);

}  // namespace traingraph::cpu
