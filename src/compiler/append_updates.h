// SPDX-License-Identifier: MIT
// The update phase of a training program.
#pragma once

#include "compiler/assemble.h"

namespace traingraph {

/// Appends one update op per trained parameter, behind the norm clipping that
/// the optimizer asks for.
void append_updates(const MergedGraph& graph, Assembled& assembled);

}  // namespace traingraph
