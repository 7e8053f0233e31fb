# SPDX-License-Identifier: MIT
"""Ctrl-C while something waits for a device."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import RunScript

# The device is busy for a second, so that a wait ends with the signal or late.
HOLD_UP = f"""
    sys.path.append({str(Path(__file__).parent)!r})
    from busy_device import occupy

    may_interrupt = threading.Event()

    def interrupt():
        may_interrupt.wait()
        time.sleep(0.1)  # it is waiting by now; if not, the test is easier
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    occupy()
"""

WAITS = {
    "Execution.wait": "run.wait()",
    "Execution.result": "run.result()",
    "Execution.wait(timeout)": "run.wait(50)",
    "Execution.result(timeout)": "run.result(50)",
    "synchronous": "step(synchronous=True)",
    "execute": "[step() for _ in range(100)]",  # no more than 64 are in flight
    "bind_and_write_data": "training.bind_and_write_data(data[0], synchronous=True)",
    "TrainingGraph.synchronize": "training.synchronize()",
    "synchronize_updates": "training.synchronize_updates()",
    "gradient": "training.gradient(dense.weights)",
    "gradients": "training.gradients",
    "gradient_data": "training.gradient_data(dense.weights, dense)",
    "compile": "training.compile('cpu')",
    "compile_optimizer": "training.compile_optimizer(tg.optimizers.SGD(0.2))",
    "bind_optimizer_data": "training.bind_optimizer_data([], dense.weights)",
    "numpy": "dense.weights.numpy()",
    "copy_data_from_device_memory": (
        "dense.weights.copy_data_from_device_memory(np.zeros((2, 3), np.float32))"
    ),
    "Tensor.bind_and_write_data": (
        "dense.weights.bind_and_write_data(np.zeros((2, 3), np.float32), 'cpu')"
    ),
    "synchronize_data": "dense.weights.synchronize_data()",
    "Device.synchronize": "tg.Device.cpu().synchronize()",
}


@pytest.mark.parametrize("name", WAITS)
def test_ctrl_c_interrupts(name: str, run_script: RunScript) -> None:
    enqueue = "step()"
    if name.startswith("gradient"):
        enqueue = "training.execute_forward(*data); training.execute_gradient()"
    script = f"""
        run = {enqueue}
        try:
            may_interrupt.set()
            {WAITS[name]}
        except KeyboardInterrupt:
            print("interrupted", run.done())
        training.synchronize()
        print(np.isfinite(step().result().loss))
    """
    done = run_script(HOLD_UP, script)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["interrupted", "False", "True"]


@pytest.mark.parametrize("name", ["result", "gradients", "compile"])
def test_signal_handler_may_use_the_graph(name: str, run_script: RunScript) -> None:
    wait = {"result": "run.result()", **WAITS}[name]
    script = f"""
        run = training.execute_forward(*data)
        training.execute_gradient()

        def handle(*_):
            print(training.compile_count, training.memory.step.arena_bytes > 0)

        signal.signal(signal.SIGINT, handle)
        may_interrupt.set()
        {wait}
    """
    done = run_script(HOLD_UP, script)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["1", "True"]


def test_ctrl_c_during_a_handler_ends_the_call(run_script: RunScript) -> None:
    script = """
        def handler(run):
            os.kill(os.getpid(), signal.SIGINT)
            while True:
                time.sleep(0.01)  # it arrives here

        try:
            step(synchronous=True, completion_handler=handler)
        except KeyboardInterrupt:
            print("interrupted")
        print(np.isfinite(step().result().loss))
    """
    done = run_script(script)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["interrupted", "True"]
    assert not done.stderr
