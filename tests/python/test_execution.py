# SPDX-License-Identifier: MIT
"""Executions as futures: waiting, awaiting, callbacks, threads and the GIL.

Nothing here asserts a duration: order is made with events, and with a device
that is busy for longer than what is asked meanwhile.
"""

from __future__ import annotations

import asyncio
import gc
import signal
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from busy_device import occupy

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .conftest import Classifier, Unraisable


def test_a_future(classifier: Classifier) -> None:
    run = classifier.step()
    assert run.wait() is True
    assert run.done()
    assert run.exception() is None
    result = run.result()
    assert result.has_loss
    assert result.loss > 0
    assert run.result(timeout=0).loss == result.loss
    assert run.wait(timeout=0)


def test_a_timeout_is_a_number(classifier: Classifier) -> None:
    run = classifier.step()
    for call in (run.wait, run.result):
        with pytest.raises(tg.InvalidArgument, match="timeout is not a number"):
            call(timeout=float("nan"))
    assert run.wait(timeout=float("inf"))


@pytest.fixture
def held(classifier: Classifier) -> Iterator[tg.Execution]:
    """An execution that is not over for about a second."""
    occupy()
    yield classifier.step()
    tg.Device.cpu().synchronize()


def test_an_unfinished_future(held: tg.Execution) -> None:
    assert not held.done()
    assert held.exception() is None
    assert held.wait(timeout=0) is False
    assert held.wait(timeout=0.01) is False
    with pytest.raises(TimeoutError, match="not over"):
        held.result(timeout=0)
    assert held.wait()
    assert held.done()


def test_callbacks_come_after_the_work(held: tg.Execution, patience: float) -> None:
    was_done: list[bool] = []
    came = threading.Event()

    def callback(run: tg.Execution) -> None:
        was_done.append(run.done())
        came.set()

    held.add_done_callback(callback)
    assert not came.is_set()
    assert came.wait(patience)
    assert was_done == [True]


def test_enqueueing_does_not_wait(classifier: Classifier, held: tg.Execution) -> None:
    runs = [held, *(classifier.step() for _ in range(3))]
    assert not any(run.done() for run in runs)
    losses = [run.result().loss for run in runs]
    assert losses == sorted(losses, reverse=True)


def test_an_await_may_time_out(held: tg.Execution) -> None:
    async def main() -> None:
        async def wait() -> tg.ExecutionResult:
            return await held

        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(wait(), 0.01)
        with pytest.raises(tg.CancelledError):  # it had not begun
            await held

    asyncio.run(main())


def test_synchronous(classifier: Classifier) -> None:
    assert classifier.step(synchronous=True).done()


def test_dropped_results_run_all_the_same(classifier: Classifier) -> None:
    before = classifier.dense.weights.numpy()
    for _ in range(50):
        classifier.step()
    classifier.training.synchronize()
    assert classifier.training.random_step == 50
    assert not np.array_equal(classifier.dense.weights.numpy(), before)


def test_profiling(classifier: Classifier) -> None:
    plain = classifier.step().result()
    assert plain.execution_time == 0
    assert plain.layer_times == []
    timed = classifier.step(profiling=True, per_layer_profiling=True).result()
    assert timed.execution_time > 0
    times = {time.layer: time for time in timed.layer_times}
    assert times["dense"].forward > 0
    del timed
    gc.collect()
    assert "dense" in repr(times["dense"])


def test_await(classifier: Classifier) -> None:
    async def train() -> list[float]:
        losses = []
        for _ in range(5):
            run = await classifier.step()
            losses.append(run.loss)
        return losses

    losses = asyncio.run(train())
    assert losses == sorted(losses, reverse=True)


def test_await_many_at_once(classifier: Classifier) -> None:
    async def run(execution: tg.Execution) -> float:
        return (await execution).loss

    async def train() -> list[float]:
        return await asyncio.gather(*(run(classifier.step()) for _ in range(10)))

    # Submitted in order, so run in order, and each step lowers the loss.
    losses = asyncio.run(train())
    assert losses == sorted(losses, reverse=True)


def test_awaiting_lets_the_loop_run(classifier: Classifier) -> None:
    async def main() -> int:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            ticks += 1

        task = asyncio.ensure_future(tick())
        await classifier.step()
        await task
        return ticks

    assert asyncio.run(main()) == 1


def test_a_cancelled_await_disturbs_nobody(classifier: Classifier) -> None:
    async def main() -> float:
        async def wait() -> tg.ExecutionResult:
            return await classifier.step()

        task = asyncio.ensure_future(wait())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return (await classifier.step()).loss

    assert np.isfinite(asyncio.run(main()))


def test_a_closed_loop_disturbs_nobody(
    classifier: Classifier, unraisable: Unraisable
) -> None:
    gate = threading.Event()
    classifier.step().wait()

    async def main() -> None:
        # The callback thread is held up, so that the loop is closed first.
        classifier.step(completion_handler=lambda _: gate.wait())
        run = classifier.step()
        run.__await__().send(None)

    asyncio.run(main())
    gate.set()
    done = threading.Event()
    classifier.step(completion_handler=lambda _: done.set())
    assert done.wait(60)
    assert unraisable.errors == []


def test_callbacks_get_the_execution(classifier: Classifier, patience: float) -> None:
    came = threading.Event()
    got: list[tg.Execution] = []

    def callback(execution: tg.Execution) -> None:
        got.append(execution)
        came.set()

    run = classifier.step()
    run.add_done_callback(callback)
    assert came.wait(patience)
    (execution,) = got
    assert execution.done()
    assert execution.result().loss == run.result().loss


def test_a_late_callback_is_called_at_once(classifier: Classifier) -> None:
    run = classifier.step()
    run.wait()
    threads = []
    run.add_done_callback(lambda _: threads.append(threading.get_ident()))
    assert threads == [threading.get_ident()]


def test_completion_handler(classifier: Classifier, patience: float) -> None:
    came = threading.Event()
    classifier.step(completion_handler=lambda _: came.set())
    assert came.wait(patience)


def test_a_synchronous_call_returns_after_its_handler(classifier: Classifier) -> None:
    losses: list[float] = []
    for _ in range(20):
        losses.clear()
        classifier.step(
            synchronous=True,
            completion_handler=lambda run: losses.append(run.result().loss),
        )
        assert len(losses) == 1


def test_callbacks_that_raise_do_not_break_the_queue(
    classifier: Classifier, unraisable: Unraisable, patience: float
) -> None:
    error = RuntimeError("from the callback")

    def callback(_: tg.Execution) -> None:
        raise error

    run = classifier.step(completion_handler=callback)
    assert unraisable.came.wait(patience)
    assert unraisable.errors == [error]
    assert run.exception() is None
    assert np.isfinite(classifier.step().result().loss)
    # At once, on this thread: the same rule.
    run.add_done_callback(callback)
    assert unraisable.errors == [error, error]


def test_buffers_whose_finalizers_raise_do_not_break_the_queue(
    classifier: Classifier, unraisable: Unraisable, patience: float
) -> None:
    error = ValueError("in __del__")

    class Buffer(np.ndarray[Any, Any]):
        def __del__(self) -> None:
            raise error

    # The thread of callbacks drops the last reference.
    classifier.step(outputs_data={"logits": np.zeros((8, 3), np.float32).view(Buffer)})
    assert unraisable.came.wait(patience)
    assert unraisable.errors == [error]
    assert np.isfinite(classifier.step().result().loss)


def test_a_callback_may_enqueue(classifier: Classifier, patience: float) -> None:
    done = threading.Event()
    losses: list[float] = []

    def again(execution: tg.Execution) -> None:
        losses.append(execution.result().loss)
        if len(losses) == 5:
            done.set()
        else:
            classifier.step(completion_handler=again)

    classifier.step(completion_handler=again)
    assert done.wait(patience)
    assert losses == sorted(losses, reverse=True)


def test_a_callback_may_read_the_device(
    classifier: Classifier, patience: float
) -> None:
    came = threading.Event()
    got: list[np.ndarray[Any, Any]] = []

    def callback(_: tg.Execution) -> None:
        got.append(classifier.dense.weights.numpy())
        came.set()

    classifier.step(completion_handler=callback)
    assert came.wait(patience)
    np.testing.assert_array_equal(got[0], classifier.dense.weights.numpy())


@pytest.mark.parametrize("method", ["wait", "result"])
def test_a_signal_handlers_exception_leaves_wait(
    held: tg.Execution, method: str
) -> None:
    class Interrupted(Exception):
        pass

    def handler(*_: object) -> None:
        raise Interrupted

    previous = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(Interrupted):
            getattr(held, method)()
    finally:
        signal.signal(signal.SIGALRM, previous)
    assert not held.done()
    with pytest.raises(tg.CancelledError):  # it had not begun
        held.result()


def test_null_device(make_classifier: Callable[..., Classifier]) -> None:
    c = make_classifier(device="null")
    result = c.step(synchronous=True).result()
    assert result.loss == 0
    assert not result.output("logits").any()
