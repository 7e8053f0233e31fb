# SPDX-License-Identifier: MIT
"""``await execution``: the device's callback thread wakes the event loop.

An execution is a coroutine too, for ``asyncio.create_task`` and ``asyncio.run``.
"""

from __future__ import annotations

import asyncio
import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Generator

    from ._core import Execution, ExecutionResult


def _settle(future: asyncio.Future[ExecutionResult], execution: Execution) -> None:
    if future.done():  # the task was cancelled
        return
    error = execution.exception()
    if error is None:
        future.set_result(execution.result())
    else:
        future.set_exception(error)
        # A task that was cancelled meanwhile never asks; asyncio would print it.
        future.exception()


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

    def drop(awaited: asyncio.Future[ExecutionResult]) -> None:
        if awaited.cancelled():
            execution.cancel()

    execution.add_done_callback(wake)
    future.add_done_callback(drop)
    return future.__await__()


# The root coroutine of a task, when that is an execution: what is waited for.
_waits: weakref.WeakKeyDictionary[
    asyncio.Task[Any], Generator[Any, None, ExecutionResult]
] = weakref.WeakKeyDictionary()


def _wait_of_task(execution: Execution) -> Generator[Any, None, ExecutionResult]:
    """Each task has a wait of its own, so that several may await one execution."""
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("an execution is stepped by an event loop's task only")
    wait = _waits.get(task)
    if wait is None:
        wait = _waits[task] = wait_for(execution)
    return wait


def send(execution: Execution, value: Any) -> Any:
    """``Execution.send``: what a task calls for the next step."""
    return _wait_of_task(execution).send(value)


def throw(execution: Execution, *error: Any) -> Any:
    """``Execution.throw``: ends the wait; a cancelled task's cancels the execution."""
    kind = error[0] if isinstance(error[0], type) else type(error[0])
    if issubclass(kind, asyncio.CancelledError):
        execution.cancel()  # also for a task that has not begun to wait
    return _wait_of_task(execution).throw(*error)
