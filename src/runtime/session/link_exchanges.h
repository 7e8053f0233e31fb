// SPDX-License-Identifier: MIT
// What linked graphs are to other processes: one order of calls over one
// collective.
#pragma once

#include <vector>

#include "runtime/session/session.h"

namespace traingraph {

/// Throws InvalidArgument unless all graphs that train have one collective, or
/// none has one.
void require_one_collective(const std::vector<Session*>& group);

/// Waits, after the graphs are linked here, until all processes have linked
/// theirs. Throws the same InvalidArgument in all of them when these differ;
/// StateError, DeviceError.
void link_exchanges(const std::vector<Session*>& group);

}  // namespace traingraph
