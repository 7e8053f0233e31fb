// SPDX-License-Identifier: MIT
// How a host language ends a wait early: Python's Ctrl-C, say.
#pragma once

#include "traingraph/export.h"

namespace traingraph {

/// May throw, which ends the wait with that exception. What has begun goes on;
/// what the graph that was waited for has enqueued else is dropped, as by
/// Execution::cancel().
using InterruptCheck = void (*)();

/// `check` is called several times per second by every thread that waits for a
/// device. A synchronous call on the CPU may do the work itself instead, and
/// notices when the step is over. Null, which is the default: waits end with
/// the work only.
TRAINGRAPH_API void set_interrupt_check(InterruptCheck check) noexcept;

/// While one lives, what its thread enqueues can be dropped all at once: by a
/// host language that ends, say, which has no use for it any more.
class TRAINGRAPH_API CancelScope {
 public:
  CancelScope() noexcept;
  ~CancelScope();
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;
  /// Drops the work of all threads, as far as it has not begun.
  static void cancel_waiting() noexcept;
};

}  // namespace traingraph
