# SPDX-License-Identifier: MIT
"""Leaving the interpreter with work in flight, and other interpreters."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .conftest import RunScript


def test_exit_with_work_in_flight(run_script: RunScript) -> None:
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


def test_callbacks_run_before_exit_and_none_after(run_script: RunScript) -> None:
    done = run_script("""
        for i in range(20):
            step(completion_handler=lambda run, i=i: print(i, flush=True))
    """)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.split() == [str(i) for i in range(20)]


def test_exit_while_a_daemon_thread_enqueues(run_script: RunScript) -> None:
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


def test_exit_while_a_daemon_thread_uses_its_own_device(
    run_script: RunScript,
) -> None:
    # Nothing was made on the main thread, whose objects die first.
    done = run_script(
        """
        started = threading.Event()
        def work():
            training.compile(tg.Device.cpu(threads=3))
            while True:
                step(completion_handler=lambda _: started.set())
        threading.Thread(target=work, daemon=True).start()
        started.wait()
        """,
        is_compiled=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Fatal" not in done.stderr


def test_devices_end_with_their_handle(run_script: RunScript) -> None:
    done = run_script("""
        before = len(os.listdir("/proc/self/task"))
        for _ in range(50):
            tg.Device.cpu(threads=8)
        print(len(os.listdir("/proc/self/task")) - before)
    """)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) <= 1  # the callbacks' own


def test_exit_with_queued_work_and_held_buffers(run_script: RunScript) -> None:
    done = run_script("""
        runs = [step(outputs_data={"y": np.zeros((4, 2), np.float32)})
                for _ in range(50)]
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_exit_with_queued_work_of_many_graphs(run_script: RunScript) -> None:
    done = run_script("""
        def build():
            x, t = tg.Tensor((4, 3)), tg.Tensor((4, 2))
            graph = tg.Graph()
            y = graph.node(tg.layers.FullyConnected(3, 2), x)
            training = tg.TrainingGraph(
                [graph], tg.losses.MeanSquaredError(), tg.optimizers.Adam(0.1))
            training.add_inputs({"x": x}, {"t": t})
            training.add_outputs({"y": y})
            training.compile("cpu")
            return training

        count = 0
        def callback(run):
            global count
            count += bool(np.isfinite(run.result().loss))
            if count == 8 * 40:
                print("all", flush=True)

        graphs = [build() for _ in range(8)]
        for _ in range(40):
            for graph in graphs:
                graph.execute(*data, completion_handler=callback,
                              outputs_data={"y": np.zeros((4, 2), np.float32)})
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "all\n", "")


def test_finalizers_at_exit_may_use_graphs_and_raise(run_script: RunScript) -> None:
    done = run_script("""
        class Late:
            def __del__(self, np=np, training=training, data=data):
                run = training.execute(*data)
                print(np.isfinite(run.result().loss), flush=True)
                raise ValueError("too late")
        late = Late()
        step()
    """)
    assert (done.returncode, done.stdout) == (0, "True\n")
    assert "ValueError: too late" in done.stderr
    assert "Fatal" not in done.stderr


def test_exit_while_callbacks_enqueue(run_script: RunScript) -> None:
    # Each callback enqueues the next: at exit the chain is cut.
    done = run_script("""
        import time
        started = threading.Event()
        def chain(_):
            started.set()
            for _ in range(2000):  # exit finds a callback that enqueues
                step()
            step(completion_handler=chain)
        step(completion_handler=chain)
        started.wait()
        print(time.time())
    """)
    seconds = time.time() - float(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert seconds < 5


def test_exit_code_with_work_in_flight(run_script: RunScript) -> None:
    done = run_script("""
        import sys
        step(completion_handler=lambda _: None)
        sys.exit(3)
    """)
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "")


def test_subinterpreters_get_an_import_error(run_script: RunScript) -> None:
    done = run_script(
        """
        try:
            import _interpreters as interpreters  # Python 3.13
        except ImportError:
            import _xxsubinterpreters as interpreters
        signal.alarm(30)
        interpreters.run_string(interpreters.create(), '''if True:
            try:
                import traingraph
            except ImportError as error:
                print(error)
        ''')
        """,
        is_compiled=False,
    )
    assert done.returncode == 0, done.stderr
    assert "does not support" in done.stdout
    assert "subinterpreters" in done.stdout
