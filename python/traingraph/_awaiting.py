# SPDX-License-Identifier: MIT
"""``await execution``: the device's callback thread wakes the event loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Generator

    from ._core import Execution, ExecutionResult


def _settle(future: asyncio.Future[ExecutionResult], execution: Execution) -> None:
    if future.done():  # the task was cancelled; the work ran all the same
        return
    error = execution.exception()
    if error is None:
        future.set_result(execution.result())
    else:
        future.set_exception(error)


def wait_for(
    execution: Execution,
) -> Generator[Any, None, ExecutionResult]:
    """Returns what ``Execution.__await__`` returns."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[ExecutionResult] = loop.create_future()

    def wake(finished: Execution) -> None:
        try:
            loop.call_soon_threadsafe(_settle, future, finished)
        except RuntimeError:
            # The loop was closed before the work was over: no task awaits it.
            if not loop.is_closed():
                raise

    execution.add_done_callback(wake)
    return future.__await__()
