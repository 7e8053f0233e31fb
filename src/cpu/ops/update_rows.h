// SPDX-License-Identifier: MIT
// Gradient of an embedding and SGD's update in one piece of work, on the rows
// that were looked up (compiler/row_updates.h).
#pragma once

#include "cpu/lowering.h"

namespace traingraph::cpu {

/// `gradient` is the node whose result `update` reads; it has joined its unit.
void lower_row_update(NodeLowering& update, NodeLowering& gradient);

}  // namespace traingraph::cpu
