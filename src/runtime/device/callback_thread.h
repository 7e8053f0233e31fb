// SPDX-License-Identifier: MIT
// The thread on which completion callbacks of asynchronous executions run and
// what their callers own is released, so that user code never holds up a
// device's queue.
#pragma once

#include <functional>
#include <list>

namespace traingraph {

/// Callbacks are called once, in order, and destroyed. They are a list, so that
/// handing them over cannot fail.
using Callbacks = std::list<std::function<void()>>;

/// Appends to `callbacks`, and starts the callback thread unless it runs.
/// Throws DeviceError when it cannot be started.
void add_callback(Callbacks& callbacks, std::function<void()> callback);
/// Calls them on the callback thread, after all that were posted before.
void post_callbacks(Callbacks callbacks) noexcept;
/// Calls them here; what user code throws is reported on stderr.
void call_callbacks(Callbacks callbacks) noexcept;

}  // namespace traingraph
