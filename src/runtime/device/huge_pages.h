// SPDX-License-Identifier: MIT
// Huge pages: the processor finds few pages at a time, and memory that is read
// in large steps, or in full, is faster in pages of 2 MiB than of 4 KiB. Where
// the system has none to give, nothing changes.
#pragma once

#include <cstddef>

namespace traingraph {

inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// Call it for memory of this process, before it is touched.
void ask_for_huge_pages(std::byte* data, std::size_t bytes);

}  // namespace traingraph
