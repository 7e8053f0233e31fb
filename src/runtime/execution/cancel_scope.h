// SPDX-License-Identifier: MIT
// Executions that a host language may drop when it ends; see interrupt.h.
#pragma once

#include <cstdint>

namespace traingraph {

/// For what this thread enqueues now; 0: it is not droppable.
std::uint64_t next_in_cancel_scope() noexcept;
bool is_cancelled_by_scope(std::uint64_t number) noexcept;

}  // namespace traingraph
