# SPDX-License-Identifier: MIT
"""How many threads compute, and that nothing around the process changes it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest

import traingraph as tg

if TYPE_CHECKING:
    from .conftest import RunScript

# Barriers inside oneDNN: the weights' gradient is summed over threads.
CONVOLUTIONS = """
    import traingraph as tg
    import numpy as np
    image, label = tg.Tensor((8, 16, 20, 20)), tg.Tensor((8, 32, 20, 20))
    g = tg.Graph()
    h = g.node(tg.layers.Convolution(16, 32, kernel_size=3, padding="same"), image)
    h = g.node(tg.layers.ReLU(), h)
    h = g.node(tg.layers.Convolution(32, 32, kernel_size=3, padding="same"), h)
    t = tg.TrainingGraph([g], tg.losses.MeanSquaredError(), tg.optimizers.SGD(0.1))
    t.add_inputs({"image": image}, {"label": label})
    t.compile("cpu")
    data = ({"image": np.ones((8, 16, 20, 20), np.float32)},
            {"label": np.zeros((8, 32, 20, 20), np.float32)})
    losses = [t.execute(*data).result().loss for _ in range(3)]
    assert losses[2] < losses[0]
    print(tg.num_threads(), tg.Device.cpu().name)
"""


@pytest.mark.parametrize(
    "environment",
    [
        {"OMP_DYNAMIC": "true"},
        {"OMP_THREAD_LIMIT": "1"},
        {"OMP_MAX_ACTIVE_LEVELS": "0"},
        {"OMP_NESTED": "true", "OMP_PROC_BIND": "true", "OMP_STACKSIZE": "1"},
        {"OMP_WAIT_POLICY": "active", "GOMP_SPINCOUNT": "infinite"},
    ],
    ids=lambda environment: next(iter(environment)),
)
def test_variables_of_openmp_hang_nothing(
    run_script: RunScript, environment: dict[str, str]
) -> None:
    environment = {"OMP_NUM_THREADS": "2", **environment}
    done = run_script(CONVOLUTIONS, is_compiled=False, environment=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2 cpu (")


@pytest.mark.parametrize(
    ("value", "count"), [("3", 3), ("1", 1), ("2,1", 2), ("4711", 1024)]
)
def test_omp_num_threads_is_the_default(
    run_script: RunScript, value: str, count: int
) -> None:
    done = run_script(
        "print(tg.num_threads())",
        is_compiled=False,
        environment={"OMP_NUM_THREADS": value},
    )
    assert done.stdout == f"{count}\n", done.stderr


@pytest.mark.parametrize("value", ["", "many", "0", "-2"])
def test_nonsense_leaves_the_affinity_mask(run_script: RunScript, value: str) -> None:
    done = run_script(
        """
        os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
        print(tg.num_threads())
        """,
        is_compiled=False,
        environment={"OMP_NUM_THREADS": value},
    )
    assert done.stdout == "1\n", done.stderr


def test_threads_that_cannot_be_started(run_script: RunScript) -> None:
    # Each thread reserves its stack.
    done = run_script(
        """
        import resource
        first = step(synchronous=True).result().loss
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        limit = used + (1 << 30)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        try:
            tg.Device.cpu(threads=1024)
        except tg.DeviceError as error:
            print("DeviceError" if "1024 threads" in str(error) else error)
        # What there is goes on, and smaller devices can be had.
        assert step(synchronous=True).result().loss < first
        print(tg.Device.cpu(threads=2).name)
        """
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "DeviceError"
    assert done.stdout.splitlines()[1].endswith("2 threads)")


def test_libgomp_is_not_loaded(run_script: RunScript) -> None:
    done = run_script("print('libgomp' in open('/proc/self/maps').read())")
    assert done.stdout == "False\n", done.stderr


def test_a_device_per_thread() -> None:
    """Each Python thread trains on a device of its own."""
    losses: list[list[float]] = [[], []]

    def train(losses: list[float]) -> None:
        x, t = tg.Tensor((32, 64)), tg.Tensor((32, 8))
        g = tg.Graph()
        weights = np.random.default_rng(0).standard_normal((8, 64), dtype=np.float32)
        g.node(tg.layers.FullyConnected(64, 8, weights=weights), x)
        training = tg.TrainingGraph(
            [g], tg.losses.MeanSquaredError(), tg.optimizers.SGD(0.01)
        )
        training.add_inputs({"x": x}, {"t": t})
        training.compile(device=tg.Device.cpu(threads=1))
        data = (
            {"x": np.ones((32, 64), np.float32)},
            {"t": np.ones((32, 8), np.float32)},
        )
        losses.extend(training.execute(*data).result().loss for _ in range(50))

    threads = [threading.Thread(target=train, args=(each,)) for each in losses]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert losses[0] == losses[1]
    assert losses[0][-1] < losses[0][0]


@pytest.mark.parametrize("threads", [0, -1, 1025])
def test_numbers_out_of_range(threads: int) -> None:
    with pytest.raises(tg.InvalidArgument, match=rf"1 to 1024, got {threads}"):
        tg.Device.cpu(threads=threads)
    with pytest.raises(tg.InvalidArgument, match=rf"1 to 1024, got {threads}"):
        tg.set_num_threads(threads)


def test_the_default_can_be_changed() -> None:
    before = tg.num_threads()
    cpu = tg.Device.cpu()
    try:
        tg.set_num_threads(before + 1)
        assert tg.num_threads() == before + 1
        assert tg.Device.cpu() != cpu
        assert f"{before + 1} threads" in tg.Device.cpu().name
    finally:
        tg.set_num_threads(before)
    assert tg.Device.cpu() == cpu


@pytest.mark.parametrize("threads", [4, 7])
@pytest.mark.parametrize(
    ("batch", "fan_in", "fan_out"),
    [(130, 517, 640), (33, 1000, 600), (257, 129, 2100), (5, 1153, 1027)],
)
@pytest.mark.parametrize("precision", ["float32", "fast"])
def test_gradients_of_weights_in_tiles(
    threads: int, batch: int, fan_in: int, fan_out: int, precision: str
) -> None:
    """Of sizes that end within tiles; each tile is written once, and wholly."""
    random = np.random.default_rng(batch)
    data = random.standard_normal((batch, fan_in), dtype=np.float32)
    given = random.standard_normal((batch, fan_out), dtype=np.float32)
    x = tg.Tensor((batch, fan_in), name="x")
    g = tg.Graph()
    dense = tg.layers.FullyConnected(fan_in, fan_out)
    y = g.node(dense, x)
    t = tg.TrainingGraph([g])
    t.add_inputs({"x": x})
    upstream = t.allocate_user_gradient(y)
    t.compile(tg.Device.cpu(threads=threads), precision=precision, poison_memory=True)
    expected = given.T.astype(np.float64) @ data
    # Sums of `batch` products of numbers around 1, with operands of 24 bits, or
    # rounded to 8 where the processor multiplies these faster.
    tolerance = (1e-6 if precision == "float32" else 8e-3) * 4 * np.sqrt(batch) + 1e-5
    for _ in range(2):
        t.execute_forward({"x": data})
        t.bind_and_write_data({"upstream": given}, {"upstream": upstream})
        t.execute_gradient().wait()
        np.testing.assert_allclose(
            t.gradient(dense.weights), expected, rtol=0, atol=tolerance
        )
