# SPDX-License-Identifier: MIT
"""Ctrl-C while something waits for a device."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import RunScript

# A wait on a busy device, and Ctrl-C during it. Whether that comes in time is up
# to the machine: when the wait was over before, all is repeated with more work,
# so that only a wait that Ctrl-C does not end fails.
HOLD_UP = f"""
    sys.path.append({str(Path(__file__).parent)!r})
    from busy_device import occupy

    def interrupt():
        time.sleep(0.1)  # most likely it waits by now; if not, the test is easier
        os.kill(os.getpid(), signal.SIGINT)

    def attempts(enqueue, wait):
        "Of each: whether Ctrl-C came before the wait and its execution were over."
        for seconds in (1, 4, 16):
            occupy(seconds)
            run = enqueue()
            is_over = False
            threading.Thread(target=interrupt, daemon=True).start()
            try:
                wait(run)
                is_over = True
                threading.Event().wait()  # a late Ctrl-C arrives here
            except KeyboardInterrupt:
                pass
            yield not is_over and not run.done()
"""

WAITS = {
    "Execution.wait": "run.wait()",
    "Execution.result": "run.result()",
    "Execution.wait(timeout)": "run.wait(50)",
    "Execution.result(timeout)": "run.result(50)",
    "synchronous": "step(synchronous=True)",
    "execute": "[step() for _ in range(100)]",  # no more than 64 are in flight
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


ENQUEUE = """
    def enqueue():
        return step()
"""
ENQUEUE_PHASES = """
    def enqueue():
        run = training.execute_forward(*data)
        training.execute_gradient()
        return run
"""


@pytest.mark.parametrize("name", WAITS)
def test_ctrl_c_interrupts(name: str, run_script: RunScript) -> None:
    enqueue = ENQUEUE_PHASES if name.startswith("gradient") else ENQUEUE
    script = f"""
        print(any(attempts(enqueue, lambda run: {WAITS[name]})))
        training.synchronize()
        print(np.isfinite(step().result().loss))
    """
    done = run_script(HOLD_UP, enqueue, script)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["True", "True"]


@pytest.mark.parametrize("name", ["result", "gradients", "compile"])
def test_signal_handler_may_use_the_graph(name: str, run_script: RunScript) -> None:
    wait = {"result": "run.result()", **WAITS}[name]
    script = f"""
        def handle(*_):
            print(training.compile_count, training.memory.step.arena_bytes > 0)
            handled.set()

        handled = threading.Event()
        signal.signal(signal.SIGINT, handle)
        occupy()
        run = enqueue()
        threading.Thread(target=interrupt, daemon=True).start()
        {wait}
        handled.wait()
    """
    done = run_script(HOLD_UP, ENQUEUE_PHASES, script)
    assert done.returncode == 0, done.stderr
    num_compiled, has_plan = done.stdout.split()
    # Two when Ctrl-C came after the second compile.
    assert num_compiled in ("1", "2" if name == "compile" else "1")
    assert has_plan == "True"


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


def test_ctrl_c_among_batches_ahead(run_script: RunScript) -> None:
    """At any moment: nothing hangs, and no thread stays."""
    script = """
        import _thread, random
        def interrupt(*_):
            raise KeyboardInterrupt
        signal.signal(signal.SIGALRM, interrupt)
        seed = random.randrange(1 << 30)
        print("seed", seed, file=sys.stderr)
        moments = random.Random(seed)
        for _ in range(1000):
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-5 + moments.random() * 2e-3)
                for _ in tg.prefetch(range(1000)):
                    pass
                time.sleep(1)  # for an alarm that is late
            except KeyboardInterrupt:
                pass
        deadline = time.monotonic() + 20
        while _thread._count() > 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        print(_thread._count())
    """
    done = run_script(script)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["0"], done.stderr
