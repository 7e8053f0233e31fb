// SPDX-License-Identifier: MIT
// Waiting for executions so that Ctrl-C still works.
#pragma once

#include <optional>

#include "bindings.h"

namespace traingraph::python {

/// False when the time ran out first. Rethrows the execution's error, throws
/// what a signal handler raised. Called with the GIL, waits without it.
bool wait_interruptibly(const Execution& execution,
                        std::optional<double> timeout = std::nullopt);

}  // namespace traingraph::python
