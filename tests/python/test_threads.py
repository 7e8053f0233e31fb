# SPDX-License-Identifier: MIT
"""Threads, the GIL, and what is kept alive for how long."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import TYPE_CHECKING

import numpy as np

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import Classifier


def test_callbacks_are_dropped_after_their_call(classifier: Classifier) -> None:
    class Payload:
        pass

    payload = Payload()
    alive = weakref.ref(payload)
    run = classifier.step(
        completion_handler=lambda _, payload=payload: payload, synchronous=True
    )
    del payload, run
    gc.collect()
    assert alive() is None


def test_waiting_lets_other_threads_run(
    classifier: Classifier, patience: float
) -> None:
    # The execution is over only after another Python thread has run: the
    # callback of the one before holds up the callback thread, and the wait is
    # for an event of the callback after it. Holding the GIL would hang here.
    other_ran = threading.Event()
    callback_ran = threading.Event()
    in_callback = threading.Event()

    def first(_: tg.Execution) -> None:
        in_callback.set()
        assert other_ran.wait(patience)

    def other() -> None:
        assert in_callback.wait(patience)
        other_ran.set()

    thread = threading.Thread(target=other)
    classifier.step(completion_handler=first)
    thread.start()
    classifier.step(completion_handler=lambda _: callback_ran.set()).wait()
    classifier.training.synchronize()
    tg.Device.cpu().synchronize()
    assert callback_ran.wait(patience)
    thread.join(patience)
    assert other_ran.is_set()


def test_data_is_prepared_while_a_callback_waits_for_the_gil(
    classifier: Classifier, patience: float
) -> None:
    # A chain over two threads: each link needs the GIL that the other gives up
    # while it waits for the device.
    ping, pong = threading.Event(), threading.Event()

    def callback(_: tg.Execution) -> None:
        ping.set()
        assert pong.wait(patience)

    def answer() -> None:
        assert ping.wait(patience)
        classifier.step().wait()
        pong.set()

    thread = threading.Thread(target=answer)
    thread.start()
    classifier.step(completion_handler=callback)
    for _ in range(10):
        classifier.step(synchronous=True)
    thread.join(patience)
    assert not thread.is_alive()


def test_threads_may_share_a_graph(classifier: Classifier, patience: float) -> None:
    num_threads, num_steps = 4, 25
    start = threading.Barrier(num_threads)
    errors: list[BaseException] = []

    def work() -> None:
        try:
            start.wait(patience)
            for _ in range(num_steps):
                assert np.isfinite(classifier.step().result().loss)
        except BaseException as error:
            errors.append(error)
            raise

    threads = [threading.Thread(target=work) for _ in range(num_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(patience)
    assert errors == []
    assert classifier.training.random_step == num_threads * num_steps


def test_threads_may_have_a_graph_each(
    make_classifier: Callable[..., Classifier], patience: float
) -> None:
    classifiers = [make_classifier() for _ in range(3)]
    finals = [0.0] * len(classifiers)

    def work(i: int) -> None:
        for _ in range(20):
            finals[i] = classifiers[i].step().result().loss

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(patience)
    assert all(0 < loss < 2 for loss in finals)


def test_getters_wait_without_the_gil(classifier: Classifier, patience: float) -> None:
    # The device's thread takes the GIL to drop each output buffer, and locks
    # of the graph are held meanwhile: a getter that waited for one with the
    # GIL would hang.
    stop = threading.Event()
    read = 0

    def work() -> None:
        while not stop.is_set():
            for _ in range(8):
                classifier.step(
                    outputs_data={"logits": np.empty((8, 3), np.float32)},
                    completion_handler=lambda run: run.result().loss,
                )
            classifier.forward(outputs_data={"logits": np.empty((8, 3), np.float32)})
            classifier.training.execute_gradient()
            classifier.training.gradient(classifier.dense.weights)

    def getters() -> None:
        nonlocal read
        training, weights = classifier.training, classifier.dense.weights
        for _ in range(40):
            assert training.is_compiled
            assert training.compile_count > 0
            assert training.random_step >= 0
            assert training.optimizer is not None
            assert len(training.parameters) == 2
            assert training.device_memory_size > 0
            assert training.memory.step.arena_bytes > 0
            assert training.plan_description()
            assert training.summarized_dot_description
            assert weights.device is not None
            assert weights.has_valid_numerics
            assert np.isfinite(weights.numpy()).all()
            assert training.gradient_tensor(classifier.image) is None
            read += 1

    threads = [
        threading.Thread(target=target, daemon=True) for target in (work, getters)
    ]
    for thread in threads:
        thread.start()
    threads[1].join(patience)
    stop.set()
    threads[0].join(patience)
    assert not any(thread.is_alive() for thread in threads)
    assert read == 40


def test_output_buffers_live_until_completion(
    classifier: Classifier, patience: float
) -> None:
    buffers = np.zeros((8, 3), np.float32)
    alive = weakref.ref(buffers)
    run = classifier.step(outputs_data={"logits": buffers})
    del buffers
    gc.collect()
    expected = run.result().output("logits")
    assert np.isfinite(expected).all()
    # The thread of callbacks lets go of it.
    released = threading.Event()
    classifier.step(completion_handler=lambda _: released.set())
    assert released.wait(patience)
    gc.collect()
    assert alive() is None


def test_graphs_may_go_while_they_run(
    make_classifier: Callable[..., Classifier],
) -> None:
    for _ in range(10):
        classifier = make_classifier()
        run = classifier.step()
        del classifier
        gc.collect()
        assert np.isfinite(run.result().loss)


def test_a_callback_may_hold_the_last_reference(
    make_classifier: Callable[..., Classifier], patience: float
) -> None:
    came = threading.Event()
    classifier = make_classifier()
    alive = weakref.ref(classifier)

    def callback(_: tg.Execution, held: list[Classifier] = [classifier]) -> None:  # noqa: B006
        held.clear()
        came.set()

    run = classifier.step(completion_handler=callback)
    del classifier
    assert came.wait(patience)
    run.wait()
    gc.collect()
    assert alive() is None
