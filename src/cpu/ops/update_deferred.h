// SPDX-License-Identifier: MIT
// An embedding whose rows move without a gradient, too: a step works on those
// that it looks up, and the others catch up later (cpu/deferred_rows.h).
#pragma once

#include "cpu/lowering.h"

namespace traingraph::cpu {

/// Brings rows up to now and looks them up. `update` has joined the unit.
void lower_deferred_lookup(NodeLowering& lookup, NodeLowering& update);
/// `gradient` is the node whose result `update` reads; it has joined its unit.
void lower_deferred_update(NodeLowering& update, NodeLowering& gradient);

}  // namespace traingraph::cpu
