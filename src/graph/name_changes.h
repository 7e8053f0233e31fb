// SPDX-License-Identifier: MIT
// How often a tensor that exists has got another name: whoever keeps a table
// of names sees by it that the table is old.
#pragma once

#include <atomic>
#include <cstdint>

namespace traingraph {

inline constinit std::atomic<std::uint64_t> g_name_changes = 0;

}  // namespace traingraph
