// SPDX-License-Identifier: MIT
// Counts what all threads of the process ask of the C allocator, and measures
// the process. Linux only.
#pragma once

#include <cstddef>

namespace traingraph::testing {

struct Allocations {
  std::size_t ours = 0;       // and everybody else's
  std::size_t in_engine = 0;  // inside dnnl_primitive_execute()
  bool operator==(const Allocations&) const = default;
};

void start_counting();
/// Since start_counting().
Allocations stop_counting();

struct ProcessMemory {
  std::size_t mapped = 0;    // bytes of heap, stacks and everything else
  std::size_t resident = 0;  // those that occupy memory
  bool operator==(const ProcessMemory&) const = default;
};
ProcessMemory process_memory();

/// Sanitizers hold freed memory back: the process grows. Their allocators
/// count all the same.
bool has_sanitizer();

}  // namespace traingraph::testing
