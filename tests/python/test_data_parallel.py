# SPDX-License-Identifier: MIT
"""compile(collective=): ranks that train together, as threads and by mpiexec."""

from __future__ import annotations

import os
import re
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

from .mpi_kills import Kills
from .mpi_ranks import needs_mpi, run_ranks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# The same network in every process: 24 samples of 6 numbers, 3 classes.
NETWORK = """
rng = np.random.default_rng(0)
X = rng.standard_normal((24, 6)).astype(np.float32)
Y = np.eye(3, dtype=np.float32)[rng.integers(0, 3, 24)]


LOCK = threading.Lock()  # the seed is the process's, and ranks may be threads


def build(seed=1, device="cpu", **options):
    x = tg.Tensor((24, 6), name="x")
    label = tg.Tensor((24, 3), name="label")
    g = tg.Graph()
    with LOCK:
        tg.set_seed(seed)
        h = g.node(tg.layers.FullyConnected(6, 5, name="first"), x)
        h = g.node(tg.layers.Tanh(), h)
        g.node(tg.layers.FullyConnected(5, 3, name="second"), h)
    t = tg.TrainingGraph([g], tg.losses.SoftmaxCrossEntropy(), tg.optimizers.Adam(0.05))
    t.add_inputs({"x": x}, {"label": label})
    t.compile(device, **options)
    return t


def step(t, rows, **options):
    return t.execute({"x": X[rows]}, {"label": Y[rows]}, batch_size=len(rows), **options)


def values(t):
    return np.concatenate([np.asarray(p).ravel() for p in t.parameters])
"""
namespace: dict[str, Any] = {"np": np, "tg": tg, "threading": threading}
# The scripts have the same text.
exec(NETWORK, namespace)  # noqa: S102
build, step, values = namespace["build"], namespace["step"], namespace["values"]


class ThreadRank:
    """A rank that is a thread."""

    def __init__(self, rank: int, slots: list, barrier: threading.Barrier) -> None:
        self.rank, self.size = rank, len(slots)
        self.slots, self.meeting = slots, barrier

    def _exchange(self, array: np.ndarray) -> list[np.ndarray]:
        self.slots[self.rank] = array.copy()
        self.meeting.wait()
        arrays = list(self.slots)
        self.meeting.wait()
        return arrays

    def all_reduce(self, array: np.ndarray) -> None:
        array[:] = sum(self._exchange(array))

    def all_gather(self, part: np.ndarray, all: np.ndarray) -> None:
        all[:] = np.concatenate(self._exchange(part))

    def broadcast(self, array: np.ndarray, root: int) -> None:
        array[:] = self._exchange(array)[root]

    def abort(self) -> None:
        self.meeting.abort()


def on_ranks(size: int, run: Callable[[ThreadRank], Any]) -> list[Any]:
    """What `run` returns, or raises, on each of `size` threads."""
    slots: list = [None] * size
    barrier = threading.Barrier(size)
    results: list[Any] = [None] * size

    def work(rank: int) -> None:
        try:
            results[rank] = run(ThreadRank(rank, slots, barrier))
        except Exception as error:  # noqa: BLE001, it is a result
            results[rank] = error

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    return results


def alone(steps: int) -> np.ndarray:
    t = build()
    for _ in range(steps):
        step(t, np.arange(24))
    return values(t)


def build_rank(ranks: ThreadRank, **options: Any) -> tg.TrainingGraph:
    """On a device of its own: on one, the ranks would wait for each other."""
    options = {"collective_timeout": 20.0, **options}
    return build(device=tg.Device.cpu(threads=1), collective=ranks, **options)


def rows_of(rank: int, size: int) -> np.ndarray:
    return np.array_split(np.arange(24), size)[rank]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_ranks_in_python_are_one_process(size: int) -> None:
    def run(ranks: ThreadRank) -> np.ndarray:
        t = build_rank(ranks)
        for _ in range(4):
            step(t, rows_of(ranks.rank, size)).wait()
        return values(t)

    results = on_ranks(size, run)
    for result in results:
        assert np.array_equal(result, results[0])
    # Four steps of Adam amplify the roundings of sums in another order.
    np.testing.assert_allclose(results[0], alone(4), atol=2e-5)


@pytest.mark.parametrize("is_frozen", [False, True])
def test_batch_normalization_of_all_samples(is_frozen: bool) -> None:
    """Running statistics that stay are those of no samples."""

    def build_norm(**options: Any) -> tuple[tg.TrainingGraph, Any]:
        x = tg.Tensor((24, 6), name="x")
        label = tg.Tensor((24, 6), name="label")
        g = tg.Graph()
        layer = tg.layers.BatchNormalization(6, momentum=0.5)
        layer.uses_inference_form = is_frozen
        g.node(layer, x)
        t = tg.TrainingGraph(
            [g],
            tg.losses.MeanSquaredError(reduction_type="mean"),
            tg.optimizers.SGD(0.1),
        )
        t.add_inputs({"x": x}, {"label": label})
        t.compile(tg.Device.cpu(threads=1), **options)
        return t, layer

    x = namespace["X"] + np.float32(10)

    def train(t: tg.TrainingGraph, layer: Any, rows: np.ndarray) -> np.ndarray:
        for _ in range(3):
            t.execute({"x": x[rows]}, {"label": -x[rows]}, batch_size=len(rows))
        t.synchronize_updates()
        tensors = [*t.parameters, layer.mean, layer.variance]
        return np.concatenate([np.asarray(each).ravel() for each in tensors])

    def run(ranks: ThreadRank) -> np.ndarray:
        t, layer = build_norm(
            collective=ranks, synchronize_batch_norm=True, collective_timeout=20.0
        )
        rows = np.arange(7) if ranks.rank == 0 else np.arange(7, 24)
        return train(t, layer, rows)

    results = on_ranks(2, run)
    assert np.array_equal(results[1], results[0])
    # Three sums of 24 numbers of magnitude 10 in another order; frozen, of 200.
    expected = train(*build_norm(), np.arange(24))
    np.testing.assert_allclose(
        results[0], expected, rtol=1e-5 * is_frozen, atol=3 * 24 * 10 * 2**-24
    )
    if is_frozen:
        np.testing.assert_array_equal(results[0][-12:], [0] * 6 + [1] * 6)


def test_all_begin_as_rank_zero() -> None:
    def run(ranks: ThreadRank) -> np.ndarray:
        return values(build_rank(ranks, seed=ranks.rank + 1))

    results = on_ranks(3, run)
    assert np.array_equal(results[0], values(build(seed=1)))
    assert np.array_equal(results[1], results[0])
    assert np.array_equal(results[2], results[0])


def test_a_hook_sees_buckets_and_may_change_them() -> None:
    seen: list[tuple[int, int, list[str]]] = []

    def hook(index: int, gradients: np.ndarray, names: list[str]) -> None:
        seen.append((index, gradients.size, names))
        gradients[:] = 0

    t = build(on_bucket=hook, bucket_bytes=60)
    before = values(t)
    step(t, np.arange(24)).wait()
    assert np.array_equal(values(t), before)
    assert [index for index, _, _ in seen] == list(range(len(seen)))
    names = [name for _, _, names in seen for name in names]
    assert names == [
        "second.weights",
        "second.biases",
        "first.weights",
        "first.biases",
    ]


def test_what_a_hook_raises_fails_the_step_as_itself() -> None:
    def hook(*_: object) -> None:
        raise LookupError("no such bucket")

    t = build(on_bucket=hook)
    with pytest.raises(LookupError, match="no such bucket"):
        step(t, np.arange(24)).wait()


def test_what_a_transport_raises_fails_the_step_as_itself() -> None:
    class Broken(ThreadRank):
        def all_reduce(self, _: np.ndarray) -> None:
            raise ConnectionError("the cable is out")

    broken = Broken(0, [None], threading.Barrier(1))
    broken.size = 2
    broken.slots = [None]
    broken._exchange = lambda array: [array, array]  # type: ignore[method-assign]
    t = build_rank(broken)
    with pytest.raises(ConnectionError, match="the cable is out"):
        step(t, np.arange(12)).wait()
    with pytest.raises(tg.StateError, match="has failed"):
        step(t, np.arange(12)).wait()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"gradients_of_ranks": "max"}, tg.InvalidArgument, "by_loss"),
        ({"bucket_bytes": 0}, tg.InvalidArgument, "bucket_bytes"),
        ({"collective_timeout": 0}, tg.InvalidArgument, "collective_timeout"),
        ({"collective": None, "bucket_bytes": 0}, tg.InvalidArgument, "bucket_bytes"),
        (
            {"collective": None, "collective_timeout": 0},
            tg.InvalidArgument,
            "collective_timeout",
        ),
        ({"verify": "cpu"}, tg.UnsupportedError, "verify"),
        ({"on_bucket": 3}, tg.InvalidArgument, "on_bucket"),
        ({"collective": None, "shard_optimizer": True}, tg.InvalidArgument, "shard"),
        ({"collective": None, "reduce_losses": True}, tg.InvalidArgument, "reduce"),
        (
            {"collective": None, "synchronize_batch_norm": True},
            tg.InvalidArgument,
            "synchronize_batch_norm",
        ),
        (
            {"synchronize_batch_norm": True, "accumulate_gradients": True},
            tg.UnsupportedError,
            "synchronize_batch_norm",
        ),
    ],
)
def test_refusals(options: dict, error: type[Exception], message: str) -> None:
    one = ThreadRank(0, [None], threading.Barrier(1))
    with pytest.raises(error, match=message):
        build(**{"collective": one, **options})


def test_an_object_without_the_methods_is_refused() -> None:
    with pytest.raises(tg.InvalidArgument, match="all_reduce"):
        build(collective=object())


def test_a_silent_rank_ends_the_wait_in_time() -> None:
    gone = threading.Event()

    def run(ranks: ThreadRank) -> float:
        t = build_rank(ranks, collective_timeout=1.0)
        step(t, rows_of(ranks.rank, 2)).wait()
        if ranks.rank == 1:
            gone.wait(60)
            return 0
        begin = time.monotonic()
        with pytest.raises(tg.DeviceError, match=r"rank 0.*did not come"):
            step(t, rows_of(0, 2)).wait()
        gone.set()
        return time.monotonic() - begin

    results = on_ranks(2, run)
    assert results[1] == 0, results
    assert 0.9 < results[0] < 30, results


def assert_ends_well(run: Any, size: int) -> None:
    assert run.returncode == 0, run.stdout + run.stderr
    assert len(re.findall(r"^fine", run.stdout, re.MULTILINE)) == size, run.stdout


@needs_mpi
@pytest.mark.parametrize("size", [2, 4])
def test_mpi_ranks_are_one_process(size: int, tmp_path: Path) -> None:
    path = tmp_path / "values.npy"
    np.save(path, alone(4))
    run = run_ranks(
        size,
        NETWORK
        + """
c = tg.mpi_collective()
t = build(collective=c)
rows = np.array_split(np.arange(24), c.size)[c.rank]
for _ in range(4):
    step(t, rows)
t.synchronize()
own = values(t)
all = np.empty((c.size, own.size), np.float32)
c.all_gather(own, all)
assert (all == own).all()
np.testing.assert_allclose(own, np.load(sys.argv[1]), atol=2e-5)
say("fine", c.rank)
""",
        arguments=(str(path),),
    )
    assert_ends_well(run, size)


@needs_mpi
def test_mpi_training_resumes_from_the_checkpoint_of_rank_zero(tmp_path: Path) -> None:
    script = (
        NETWORK
        + """
c = tg.mpi_collective()
rows = np.array_split(np.arange(24), c.size)[c.rank]
t = build(collective=c)
for _ in range(3):
    step(t, rows)
t.synchronize()
if c.rank == 0:
    t.save(sys.argv[1])
c.all_reduce(np.zeros(1, np.float32))
for _ in range(3):
    step(t, rows)
t.synchronize()
r = build(seed=9, collective=c)
r.restore(sys.argv[1])
for _ in range(3):
    step(r, rows)
r.synchronize()
assert np.array_equal(values(r), values(t))
say("fine", c.rank)
"""
    )
    run = run_ranks(2, script, arguments=(str(tmp_path / "net.safetensors"),))
    assert_ends_well(run, 2)


@needs_mpi
@pytest.mark.parametrize(("size", "way"), [(2, "sharded"), (3, "steps")])
def test_a_killed_rank_ends_the_others_and_training_resumes(
    size: int, way: str, tmp_path: Path
) -> None:
    seed = int.from_bytes(os.urandom(4), "little")
    print("seed", seed)
    kills = Kills(seed, tmp_path)
    # A victim may be faster than its death.
    assert any(kills.kill_one(size, way) for _ in range(5))


@pytest.mark.parametrize("size", [1, 2])
def test_fit_on_ranks_has_the_gradients_of_all(size: int) -> None:
    def fit(t: tg.TrainingGraph, rows: np.ndarray) -> Any:
        x, y = namespace["X"][rows], namespace["Y"][rows]
        names = ["gradient_norm"]
        history = tg.fit(t, (x, y), epochs=3, metrics=names, progress=False)
        return history.metrics, values(t)

    metrics, expected = fit(build(), np.arange(24))
    results = on_ranks(
        size, lambda rank: fit(build_rank(rank), rows_of(rank.rank, size))
    )
    for own, trained in results:
        np.testing.assert_allclose(own["gradient_norm"], metrics["gradient_norm"], 1e-4)
        np.testing.assert_allclose(trained, expected, atol=2e-5)
