# SPDX-License-Identifier: MIT
"""Executions as coroutines: event loops take them as they are."""

from __future__ import annotations

import asyncio
import gc
import inspect
import sys
import threading
from collections.abc import Coroutine
from typing import TYPE_CHECKING

import numpy as np
import pytest
from busy_device import occupy

import traingraph as tg

if TYPE_CHECKING:
    from .conftest import Classifier, Unraisable


def test_create_task(classifier: Classifier) -> None:
    async def train() -> list[float]:
        tasks = [asyncio.create_task(classifier.step()) for _ in range(8)]
        assert "Execution" in repr(tasks[0])
        return [(await task).loss for task in tasks]

    losses = asyncio.run(train())
    assert losses[-1] < losses[0]


def test_several_tasks_of_one_execution(classifier: Classifier) -> None:
    async def train() -> set[float]:
        run = classifier.step()
        tasks = [asyncio.create_task(run) for _ in range(5)]
        results = await asyncio.gather(*tasks, run, run)
        return {result.loss for result in results} | {(await run).loss}

    assert len(asyncio.run(train())) == 1


@pytest.mark.parametrize("ends", ["result", "cancel", "cancelled task"])
def test_all_tasks_that_wait_are_woken(
    classifier: Classifier, patience: float, ends: str
) -> None:
    """On two event loops, before the work is over, however it ends."""
    woken: list[str] = []

    async def wait(run: tg.Execution) -> None:
        try:
            woken.append(str((await run).loss))
        except (tg.CancelledError, asyncio.CancelledError):
            woken.append("cancelled")

    async def wait_in_tasks(run: tg.Execution) -> None:
        tasks = [asyncio.create_task(wait(run)) for _ in range(5)]
        tasks += [asyncio.create_task(wait(run)) for _ in range(5)]
        await asyncio.sleep(0)  # all of them wait now
        if ends == "cancel":
            run.cancel()
        elif ends == "cancelled task":
            tasks[3].cancel()
        await asyncio.gather(*tasks)

    occupy(0.3)
    run = classifier.step()
    threads = [
        threading.Thread(target=lambda: asyncio.run(wait_in_tasks(run)), daemon=True)
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(patience)
        assert not thread.is_alive()
    assert len(woken) == 20
    if ends == "result":
        assert set(woken) == {str(run.result().loss)}
    elif run.cancelled():
        assert set(woken) == {"cancelled"}


def test_everything_that_takes_coroutines(classifier: Classifier) -> None:
    async def train() -> None:
        assert (await asyncio.wait_for(classifier.step(), 60)).has_loss
        assert (await asyncio.gather(classifier.step()))[0].has_loss
        assert (await asyncio.shield(classifier.step())).has_loss
        done, waiting = await asyncio.wait({asyncio.ensure_future(classifier.step())})
        assert len(done) == 1
        assert not waiting
        for next_one in asyncio.as_completed([classifier.step()]):
            assert (await next_one).has_loss

    asyncio.run(train(), debug=True)
    assert asyncio.run(classifier.step()).has_loss
    assert isinstance(classifier.step(), Coroutine)
    assert inspect.isawaitable(classifier.step())


def test_cancelled_tasks(classifier: Classifier) -> None:
    async def train() -> None:
        task = asyncio.create_task(classifier.step())
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        task = asyncio.create_task(classifier.step())
        await asyncio.sleep(0)  # it waits now, or is over
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    before = classifier.training.random_step
    asyncio.run(train())
    assert classifier.step().result().has_loss
    # What had begun ran; else it was cancelled with its task.
    assert before + 1 <= classifier.training.random_step <= before + 3


def test_timeouts(classifier: Classifier, unraisable: Unraisable) -> None:
    """A wait that ends, and a loop that is closed, before the work is over."""

    async def train(seconds: float) -> None:
        occupy(0.2)
        runs = [classifier.step() for _ in range(5)]
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(runs[-1], seconds)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.gather(*runs), seconds)

    for seconds in (0, 1e-6):
        asyncio.run(train(seconds))
        tg.Device.cpu().synchronize()
        assert classifier.step().result().has_loss
    assert unraisable.errors == []


@pytest.mark.skipif(sys.version_info < (3, 11), reason="has no TaskGroup")
def test_task_groups(classifier: Classifier) -> None:
    async def fail() -> None:
        raise KeyError("mine")

    async def fail_among_steps() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())
            for _ in range(5):
                group.create_task(classifier.step())

    async def train() -> float:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(classifier.step()) for _ in range(5)]
        with pytest.raises(Exception, match="unhandled errors"):
            await fail_among_steps()
        return tasks[-1].result().loss

    assert np.isfinite(asyncio.run(train()))
    assert classifier.step().result().has_loss


@pytest.mark.skipif(sys.version_info < (3, 12), reason="has no eager tasks")
def test_eager_tasks(classifier: Classifier) -> None:
    async def train() -> float:
        loop = asyncio.get_running_loop()
        loop.set_task_factory(asyncio.eager_task_factory)
        tasks = [asyncio.create_task(classifier.step()) for _ in range(8)]
        return (await asyncio.gather(*tasks))[-1].loss

    assert np.isfinite(asyncio.run(train()))


def test_loops_of_several_threads(classifier: Classifier, patience: float) -> None:
    losses: list[float] = []

    async def train() -> None:
        for _ in range(10):
            tasks = [asyncio.create_task(classifier.step()) for _ in range(4)]
            losses.extend([(await task).loss for task in tasks])

    threads = [threading.Thread(target=lambda: asyncio.run(train())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(patience)
        assert not thread.is_alive()
    assert len(losses) == 8 * 10 * 4
    assert np.isfinite(losses).all()


def test_steps_outside_a_loop_are_refused(classifier: Classifier) -> None:
    run = classifier.step()
    for call in (lambda: run.send(None), lambda: run.throw(ValueError())):
        with pytest.raises(RuntimeError):
            call()
    run.close()
    assert run.result().has_loss


def test_nothing_is_left_of_a_task(classifier: Classifier) -> None:
    from traingraph import _awaiting  # noqa: PLC0415

    async def train() -> None:
        for _ in range(20):
            await asyncio.create_task(classifier.step())

    asyncio.run(train())
    gc.collect()
    assert len(_awaiting._waits) == 0
    assert np.isfinite(classifier.step().result().loss)
