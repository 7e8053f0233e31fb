# SPDX-License-Identifier: MIT
"""Device threads stay with the parent when a process forks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import RunScript

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork()")

# A child that hangs is killed by its alarm, which shows in its exit code.
FORK = """
    def fork(child):
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            signal.alarm(30)
            child()
            sys.exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


@pytest.mark.parametrize("in_flight", [0, 20])
def test_a_child_of_a_process_that_used_a_device_gets_errors(
    in_flight: int, run_script: RunScript
) -> None:
    done = run_script(
        FORK,
        f"""
        parameter = dense.weights
        step().wait()
        runs = [step(completion_handler=lambda _: None) for _ in range({in_flight})]
        runs.append(step())
        calls = {{
            "execute": step,
            "compile": lambda: training.compile("cpu"),
            "wait": lambda: runs[-1].wait(),
            "result": lambda: runs[-1].result(),
            "synchronize": lambda: training.synchronize(),
            "synchronize_updates": lambda: training.synchronize_updates(),
            "numpy": lambda: parameter.numpy(),
            "device": lambda: tg.Device("cpu"),
        }}

        def child():
            global training, runs, graph
            for name, call in calls.items():
                try:
                    call()
                    print(name, "returned")
                except tg.DeviceError as error:
                    assert "forked" in str(error), error
                    assert "spawn" in error.hint, error
            del training, runs, graph
            calls.clear()

        fork(child)
        print(np.isfinite(step().result().loss))
        """,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["0", "True"]


def test_a_child_of_a_process_that_used_no_device_works(
    run_script: RunScript,
) -> None:
    done = run_script(
        FORK,
        """
        def child():
            training.compile("cpu")
            print(np.isfinite(step().result().loss), flush=True)

        fork(child)
        fork(child)
        """,
        is_compiled=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["True", "0", "True", "0"]


def test_a_spawned_child_works_while_the_parent_computes(
    run_script: RunScript,
) -> None:
    done = run_script(
        """
        import multiprocessing
        child = '''if True:
            import numpy as np
            import traingraph as tg

            x, graph = tg.Tensor((2, 3)), tg.Graph()
            y = graph.node(tg.layers.FullyConnected(3, 2), x)
            inference = tg.InferenceGraph([graph])
            inference.add_inputs({"x": x})
            inference.add_outputs({"y": y})
            inference.compile("cpu")
            run = inference.execute({"x": np.ones((2, 3), np.float32)})
            print(np.isfinite(run.result().output("y")).all(), flush=True)
        '''
        runs = [step() for _ in range(50)]
        # exec, for the child cannot import this script.
        process = multiprocessing.get_context("spawn").Process(
            target=exec, args=(child, {}))
        process.start()
        process.join(60)
        print(process.exitcode, np.isfinite(runs[-1].result().loss))
        """
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["True", "0", "True"]
