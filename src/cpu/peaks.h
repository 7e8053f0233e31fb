// SPDX-License-Identifier: MIT
// What the processor can do at most, by measurement: one matrix product for
// arithmetic, a stream triad for memory.
#pragma once

#include "traingraph/insight.h"

namespace traingraph::cpu {

/// Takes a few tenths of a second, with a thread pool of its own.
DevicePeaks measure_peaks(int num_threads);

}  // namespace traingraph::cpu
