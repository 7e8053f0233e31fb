// SPDX-License-Identifier: MIT
// Names of layouts, for people: "plain", "nhwc", "nChw16c", "OIhw16i16o".
#pragma once

#include <string>

#include "lowering/layout.h"

namespace traingraph {

/// Axes from the outermost to the innermost, then blocks; a capital letter for
/// an axis that is cut into blocks. "plain" when row-major.
std::string layout_text(const Layout& layout, bool is_weights);

}  // namespace traingraph
