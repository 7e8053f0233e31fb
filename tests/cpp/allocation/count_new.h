// SPDX-License-Identifier: MIT
// Replaces the process's operator new by one that counts, on all threads, all
// but what oneDNN asks for itself. In a file of its own, so that the compiler
// does not look through it.
#pragma once

#include <cstddef>

namespace traingraph::testing {

void start_counting();
/// Allocations since start_counting() outside of oneDNN.
std::size_t stop_counting();

}  // namespace traingraph::testing
