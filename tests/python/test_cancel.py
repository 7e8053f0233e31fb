# SPDX-License-Identifier: MIT
"""Executions that are cancelled: by hand, by a task's end, by Ctrl-C, at exit."""

from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from busy_device import occupy

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import Classifier, RunScript

# Whether there is time to cancel is up to the machine: else again, with more
# work before it.
ATTEMPTS = (0.3, 2, 8)


def cancelled(enqueue: Callable[[], tg.Execution]) -> tg.Execution:
    for seconds in ATTEMPTS:
        occupy(seconds)
        run = enqueue()
        if run.cancel():
            return run
    pytest.fail("nothing was cancelled in time")


def test_cancel(make_classifier: Callable[..., Classifier]) -> None:
    c = make_classifier()
    c.step(synchronous=True)
    optimizer = c.training.optimizer
    assert optimizer is not None
    before = c.dense.weights.numpy(), optimizer.time_step, c.training.random_step
    calls: list[tg.Execution] = []
    over = threading.Event()

    def enqueue() -> tg.Execution:
        calls.clear()
        run = c.step()
        run.add_done_callback(lambda execution: (calls.append(execution), over.set()))
        return run

    run = cancelled(enqueue)
    assert run.cancelled()
    with pytest.raises(tg.CancelledError, match=r"\[execute\] .* before it began"):
        run.wait()
    assert isinstance(run.exception(), tg.CancelledError)
    assert over.wait(60)
    assert len(calls) == 1
    if optimizer.time_step == before[1]:  # no earlier attempt ran
        assert (c.dense.weights.numpy() == before[0]).all()
        assert c.training.random_step == before[2]
    done = c.step()
    done.wait()
    assert not done.cancel()
    assert not done.cancelled()


def test_phases_go_with_their_forward(
    make_classifier: Callable[..., Classifier],
) -> None:
    c = make_classifier()
    phases: list[tg.Execution] = []

    def enqueue() -> tg.Execution:
        phases[:] = [
            c.forward(),
            c.training.execute_gradient(),
            c.training.execute_optimizer_update(),
        ]
        return phases[0]

    cancelled(enqueue)
    for run in phases:
        with pytest.raises(tg.CancelledError, match=r"\[execute_forward\]"):
            run.result()
        assert run.cancelled()


async def waits(run: tg.Execution) -> None:
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(run, 0.01)


async def ends(run: tg.Execution) -> None:
    async def body() -> Any:
        return await run

    task = asyncio.create_task(body())
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def ends_early(run: tg.Execution) -> None:
    task = asyncio.create_task(run)
    task.cancel()  # before it has begun to wait
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("give_up", [waits, ends, ends_early])
def test_awaits(
    give_up: Callable[[tg.Execution], Any], make_classifier: Callable[..., Classifier]
) -> None:
    c = make_classifier()
    for seconds in ATTEMPTS:
        occupy(seconds)
        run = c.step()

        async def main(run: tg.Execution = run) -> None:
            await give_up(run)
            await asyncio.sleep(0)  # the future's callbacks

        try:
            asyncio.run(main())
        except BaseException:
            if run.done():  # too late: with more work before it
                continue
            raise
        with pytest.raises(tg.CancelledError):
            run.wait()
        assert run.cancelled()
        return
    pytest.fail("nothing was cancelled in time")


def test_an_await_raises_what_dropped_it(
    make_classifier: Callable[..., Classifier],
) -> None:
    c = make_classifier()
    run = cancelled(c.step)

    async def main() -> None:
        with pytest.raises(tg.CancelledError):
            await run

    asyncio.run(main())


CTRL_C = f"""
    sys.path.append({str(Path(__file__).parent)!r})
    from busy_device import occupy

    def interrupt():
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGINT)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs os.kill")
@pytest.mark.parametrize(
    "wait", ["last.wait()", "last.result(50)", "training.synchronize()"]
)
def test_ctrl_c_drops_what_waits(run_script: RunScript, wait: str) -> None:
    done = run_script(
        CTRL_C
        + f"""
    step(synchronous=True)
    for seconds in (1, 4, 16):
        occupy(seconds)
        runs = [step() for _ in range(20)]
        last = runs[-1]
        threading.Thread(target=interrupt, daemon=True).start()
        try:
            {wait}
            threading.Event().wait()
        except KeyboardInterrupt:
            pass
        for run in runs:
            try:
                run.wait()
            except tg.CancelledError:
                assert run.cancelled()
        if all(run.cancelled() for run in runs):
            print("dropped")
            break
    step(synchronous=True)
    """
    )
    assert done.returncode == 0, done.stderr
    assert "dropped" in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="needs os.kill")
def test_ctrl_c_that_ends_the_program_drops_what_waits(run_script: RunScript) -> None:
    done = run_script(
        CTRL_C
        + """
    step(synchronous=True)
    occupy(2)
    import atexit
    for _ in range(20):
        step().add_done_callback(
            lambda run: os.write(1, b"dropped\\n" if run.cancelled() else b"ran\\n")
        )
    raise KeyboardInterrupt
    """
    )
    assert done.returncode != 0
    assert done.stdout.split().count("dropped") >= 18, done.stdout
    assert len(done.stdout.split()) == 20


def test_an_exit_runs_what_was_enqueued(run_script: RunScript) -> None:
    done = run_script(
        """
    for _ in range(20):
        step().add_done_callback(
            lambda run: os.write(1, b"dropped\\n" if run.cancelled() else b"ran\\n")
        )
    """
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["ran"] * 20


def settings(optimizer: tg.Optimizer, change: str) -> None:
    """What a step that was enqueued before must not notice."""
    if change == "schedule":
        optimizer.schedule = tg.optimizers.Schedule.constant(0)
    elif change == "no schedule":
        optimizer.schedule = None
    elif change == "learning rate":
        optimizer.learning_rate = 0
    elif change == "time step":
        optimizer.time_step = 100
    elif change == "time step and schedule":
        optimizer.time_step = 100
        optimizer.schedule = tg.optimizers.Schedule.constant(0)
    elif change == "clipping":
        optimizer.applies_gradient_clipping = True


@pytest.mark.parametrize("schedule", [None, "linear"])
@pytest.mark.parametrize(
    "change",
    [
        "schedule",
        "no schedule",
        "learning rate",
        "time step",
        "time step and schedule",
        "clipping",
    ],
)
def test_steps_keep_the_settings_that_they_were_enqueued_with(
    change: str, schedule: str | None
) -> None:
    """Also when one before them was cancelled: then all is as if without it."""
    if schedule and change == "learning rate":
        pytest.skip("a schedule sets the rate")

    def make() -> tuple[tg.TrainingGraph, tg.Tensor, tg.Optimizer]:
        x, y = tg.Tensor((4, 5), name="x"), tg.Tensor((4, 3), name="y")
        graph = tg.Graph()
        dense = tg.layers.FullyConnected(weights=np.eye(3, 5, dtype=np.float32))
        graph.node(dense, x)
        optimizer = tg.optimizers.Adam(
            0.01,
            gradient_clipping_type="by_value",
            gradient_clip_max=1e-3,
            gradient_clip_min=-1e-3,
        )
        optimizer.applies_gradient_clipping = False
        if schedule:
            optimizer.schedule = tg.optimizers.Schedule.linear(0.01, 0.001, 30)
        training = tg.TrainingGraph([graph], tg.losses.MeanSquaredError(), optimizer)
        training.add_inputs({"x": x}, {"y": y})
        training.compile("cpu")
        return training, dense.weights, optimizer

    def step(training: tg.TrainingGraph, scale: float) -> tg.Execution:
        x = np.full((4, 5), scale, np.float32)
        return training.execute({"x": x}, {"y": np.ones((4, 3), np.float32)})

    def expected() -> Any:
        training, weights, optimizer = make()
        for scale in (1, 0.25, 0.5):
            step(training, scale).wait()
        settings(optimizer, change)
        step(training, 2).wait()
        return weights.numpy(), optimizer.time_step

    for seconds in ATTEMPTS:
        training, weights, optimizer = make()
        step(training, 1).wait()
        occupy(seconds)
        dropped = step(training, 7)
        is_dropped = dropped.cancel()
        step(training, 0.25)
        also_dropped = step(training, 9).cancel()
        step(training, 0.5)
        settings(optimizer, change)
        step(training, 2).wait()
        if is_dropped and also_dropped:
            got, time_step = weights.numpy(), optimizer.time_step
            np.testing.assert_array_equal(got, expected()[0])
            assert time_step == expected()[1]
            return
    pytest.fail("nothing was cancelled in time")


def test_cancelled_tasks_leave_nothing_to_print(run_script: RunScript) -> None:
    """asyncio prints exceptions that nobody asked a future for."""
    done = run_script(
        CTRL_C
        + """
    import asyncio, gc

    async def main(begins):
        occupy(1)
        task = asyncio.create_task(step())
        if begins:
            await asyncio.sleep(0.01)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            print("cancelled")
        training.synchronize()
        await asyncio.sleep(0.1)  # the future is settled

    for begins in (False, True):
        asyncio.run(main(begins))
        gc.collect()
    """
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["cancelled"] * 2
    assert "never retrieved" not in done.stderr, done.stderr
