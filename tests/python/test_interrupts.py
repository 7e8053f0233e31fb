# SPDX-License-Identifier: MIT
"""Ctrl-C while something waits for a device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import RunScript

# The device's thread is held up by the finalizer of an output buffer, so that
# a wait has no other end than the signal, or giving up after a minute.
HOLD_UP = """
    gate, may_interrupt = threading.Event(), threading.Event()
    finalized = queue.SimpleQueue()

    class Held(np.ndarray):
        def __del__(self):
            thread = threading.current_thread()
            finalized.put(thread)
            if thread is not threading.main_thread():
                gate.wait(60)

    def hold_up(enqueue):
        while True:
            run = enqueue(outputs_data={"y": np.zeros((4, 2), np.float32).view(Held)})
            if finalized.get() is not threading.main_thread():
                return run
            run.wait()

    def interrupt():
        may_interrupt.wait()
        gate.wait(0.2)  # it is waiting by now; if not, the test is easier
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
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
    enqueue = "step"
    if name.startswith("gradient"):
        enqueue = "lambda **options: training.execute_forward(*data, **options)"
    script = f"""
        run = hold_up({enqueue})
        if "gradient" in {name!r}:
            training.execute_gradient()
        try:
            may_interrupt.set()
            {WAITS[name]}
        except KeyboardInterrupt:
            print("interrupted", run.done())
        gate.set()
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
        run = hold_up(lambda **options: training.execute_forward(*data, **options))
        training.execute_gradient()

        def handle(*_):
            print(training.compile_count, training.memory.step.arena_bytes > 0)
            gate.set()

        signal.signal(signal.SIGINT, handle)
        may_interrupt.set()
        {wait}
    """
    done = run_script(HOLD_UP, script)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["1", "True"]
