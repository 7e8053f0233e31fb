// SPDX-License-Identifier: MIT
// How a host language ends a wait early: Python's Ctrl-C, say.
#pragma once

#include "traingraph/export.h"

namespace traingraph {

/// May throw, which ends the wait with that exception; work goes on.
using InterruptCheck = void (*)();

/// `check` is called several times per second by every thread that waits for a
/// device. A synchronous call on the CPU may do the work itself instead, and
/// notices when the step is over. Null, which is the default: waits end with
/// the work only.
TRAINGRAPH_API void set_interrupt_check(InterruptCheck check) noexcept;

}  // namespace traingraph
