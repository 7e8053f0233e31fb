# SPDX-License-Identifier: MIT
"""Leaving the interpreter, and Ctrl-C, with work in flight."""

from __future__ import annotations

import subprocess
import sys
import textwrap


def run_script(script: str) -> subprocess.CompletedProcess[str]:
    prelude = """
        import threading
        import numpy as np
        import traingraph as tg

        x, t = tg.Tensor((4, 3)), tg.Tensor((4, 2))
        graph = tg.Graph()
        y = graph.node(tg.layers.FullyConnected(3, 2), x)
        training = tg.TrainingGraph(
            [graph], tg.losses.MeanSquaredError(), tg.optimizers.SGD(0.1))
        training.add_inputs({"x": x}, {"t": t})
        training.add_outputs({"y": y})
        training.compile("cpu")

        def step(**options):
            return training.execute(
                {"x": np.ones((4, 3), np.float32)},
                {"t": np.ones((4, 2), np.float32)}, **options)
    """
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(prelude) + textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_exit_with_work_in_flight() -> None:
    done = run_script("""
        count = 0
        def callback(_):
            global count
            count += 1
        import atexit
        # Registered last, run first: before the devices are drained.
        for _ in range(200):
            step(completion_handler=callback)
        print("exiting")
    """)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout == "exiting\n"


def test_callbacks_run_before_exit_and_none_after() -> None:
    done = run_script("""
        for i in range(20):
            step(completion_handler=lambda run, i=i: print(i, flush=True))
    """)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.split() == [str(i) for i in range(20)]


def test_exit_while_a_daemon_thread_enqueues() -> None:
    done = run_script("""
        started = threading.Event()
        def work():
            while True:
                step(completion_handler=lambda _: started.set())
        threading.Thread(target=work, daemon=True).start()
        started.wait()
    """)
    assert done.returncode == 0, done.stderr
    assert "Fatal" not in done.stderr


def test_ctrl_c_interrupts_wait() -> None:
    # The queue is held up by the finalizer of an output buffer, so the wait
    # has no other end than the signal.
    done = run_script("""
        import os, signal
        gate, about_to_wait = threading.Event(), threading.Event()
        missed = []
        class Held(np.ndarray):
            def __del__(self):
                if threading.current_thread() is threading.main_thread():
                    missed.append(True)
                else:
                    gate.wait()

        def interrupt():
            about_to_wait.wait()
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=interrupt, daemon=True).start()
        while True:
            for _ in range(20):
                step()
            missed.clear()
            run = step(outputs_data={"y": np.zeros((4, 2), np.float32).view(Held)})
            if not missed:
                break
            run.wait()
        try:
            about_to_wait.set()
            run.wait()
        except KeyboardInterrupt:
            print("interrupted", run.done())
        gate.set()
        print(np.isfinite(run.result().loss))
    """)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["interrupted", "False", "True"]
