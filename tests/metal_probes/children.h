// SPDX-License-Identifier: MIT
// Probes in processes of their own.
#pragma once

#include "tests/metal_probes/report.h"

namespace traingraph::metal::probes {

/// `program` is this one; it answers to --child.
Outcome ask_child(const char* program, const Probe& probe);

/// After this many seconds SIGALRM ends a child.
unsigned time_limit(const Probe& probe);

}  // namespace traingraph::metal::probes
