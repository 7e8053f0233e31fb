// SPDX-License-Identifier: MIT
// The thread on which completion callbacks of asynchronous executions run, so
// that user code never holds up a device's queue.
#pragma once

#include <functional>

namespace traingraph {

/// Runs `callback` on the process-wide callback thread, in order of calls.
void post_callback(std::function<void()> callback);
/// Waits until every callback posted so far has returned. No effect on the
/// callback thread itself.
void drain_callbacks();
/// Calls and swallows: what user code throws is reported on stderr.
void call_guarded(const std::function<void()>& callback) noexcept;

}  // namespace traingraph
