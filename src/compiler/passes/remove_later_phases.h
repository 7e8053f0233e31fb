// SPDX-License-Identifier: MIT
// Drops nodes that were declared for the gradient or update phase; tables
// forget their results.
#pragma once

#include "compiler/assemble.h"

namespace traingraph {

void remove_later_phases(Assembled& assembled);

}  // namespace traingraph
