# SPDX-License-Identifier: MIT
"""Ranks of one machine, whose steps lie in memory that all of them see."""

from __future__ import annotations

import sys

import pytest

from .mpi_ranks import needs_mpi, run_ranks

pytestmark = needs_mpi

NETWORK = """
rng = np.random.default_rng(0)
X = rng.standard_normal((24, 300)).astype(np.float32)
Y = np.eye(7, dtype=np.float32)[rng.integers(0, 7, 24)]
RANKS = tg.mpi_collective()
OWN = np.array_split(np.arange(24), RANKS.size)[RANKS.rank]


def build(collective, **options):
    x = tg.Tensor((24, 300), name="x")
    label = tg.Tensor((24, 7), name="label")
    g = tg.Graph()
    tg.Platform.set_rng_seed(1)
    h = g.node(tg.layers.Tanh(), g.node(tg.layers.FullyConnected(300, 33), x))
    g.node(tg.layers.FullyConnected(33, 7), h)
    t = tg.TrainingGraph([g], tg.losses.SoftmaxCrossEntropy(), tg.optimizers.Adam(0.05))
    t.add_inputs({"x": x}, {"label": label})
    t.compile("cpu", collective=collective, **options)
    return t


def step(t, rows):
    t.execute({"x": X[rows]}, {"label": Y[rows]}, batch_size=len(rows))


def phases(t, rows):
    t.execute_forward({"x": X[rows]}, {"label": Y[rows]}, batch_size=len(rows))
    t.execute_gradient()
    t.execute_optimizer_update()


def values(t):
    return np.concatenate([np.asarray(p).ravel() for p in t.parameters])
"""


def run(size: int, script: str) -> None:
    ran = run_ranks(size, NETWORK + script + "\nsay('fine')")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == ["fine"] * size


@pytest.mark.parametrize("bucket_bytes", [1, 4096, 1 << 22])
@pytest.mark.parametrize("size", [2, 3, 4])
def test_sums_are_in_the_order_of_ranks(size: int, bucket_bytes: int) -> None:
    run(
        size,
        f"""
def train(collective):
    t = build(collective, bucket_bytes={bucket_bytes})
    for _ in range(5):
        step(t, OWN)
    # Ranks with batches of their own have other places in their arenas.
    step(t, OWN[: 1 + RANKS.rank])
    # The phases' arena is elsewhere on all ranks.
    phases(t, OWN)
    step(t, OWN)
    return values(t)

ours, expected = train(RANKS), train(tg.fixed_order(RANKS))
assert np.isfinite(ours).all()
if RANKS.size == 2:  # else MPI's order of the phases' sums may be another
    assert np.array_equal(ours, expected)
else:
    np.testing.assert_allclose(ours, expected, rtol=1e-3, atol=1e-4)
""",
    )


def test_steps_alone_are_exact() -> None:
    run(
        4,
        """
def train(collective):
    t = build(collective)
    for _ in range(20):
        step(t, OWN)
    return values(t)

assert np.array_equal(train(RANKS), train(tg.fixed_order(RANKS)))
""",
    )


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_is_used_again() -> None:
    run(
        2,
        """
def mappings():
    with open("/proc/self/maps") as maps:
        return sum("shm" in line for line in maps)

def train():
    t = build(RANKS)
    step(t, OWN)
    t.synchronize()
    return t

train()
before = mappings()
for _ in range(5):
    train()
assert mappings() == before
kept = [train(), train()]  # on this rank, and others when the other is ready
if RANKS.rank == 0:
    kept.clear()
last = [train(), train()]
for t in last:
    step(t, OWN)
    assert np.isfinite(values(t)).all()
""",
    )


def test_gradients_that_the_program_sums_itself() -> None:
    """Arrays of the program lie elsewhere, on some ranks or on all."""
    run(
        3,
        """
t = build(RANKS)
step(t, OWN)
t.synchronize()
array = np.full(100_000, RANKS.rank + 1, np.float32)
RANKS.all_reduce(array)
assert (array == 6).all()
step(t, OWN)
t.synchronize()
""",
    )


def test_a_report_says_where_sums_are() -> None:
    run(
        2,
        """
def note(**options):
    return build(RANKS, **options).report().notes[-1]

assert note() == "gradients of execute() are summed in memory that the ranks share"
assert note(accumulates_gradients=True) == (
    f"gradients are summed by {RANKS.description}: the graph accumulates them"
)
""",
    )


def test_arenas_may_differ_in_size() -> None:
    """Each thread has its own tiles of attention, and a rank its own threads."""
    ran = run_ranks(
        2,
        """
RANKS = tg.mpi_collective()
rng = np.random.default_rng(0)
X = rng.standard_normal((8, 40, 32)).astype(np.float32)
OWN = X[4 * RANKS.rank :][:4]


def train(collective, threads):
    tg.Platform.set_rng_seed(1)
    x, label = tg.Tensor((4, 40, 32), name="x"), tg.Tensor((4, 40, 32), name="label")
    g = tg.Graph()
    g.node(tg.layers.MultiheadAttention(32, 4), [x, x, x])
    t = tg.TrainingGraph(
        [g], tg.losses.MeanSquaredError(), tg.optimizers.Adam(0.01)
    )
    t.add_inputs({"x": x}, {"label": label})
    t.compile(tg.Device.cpu(threads=threads), collective=collective)
    for _ in range(5):
        t.execute({"x": OWN}, {"label": OWN}).result()
    values = np.concatenate([np.asarray(p).ravel() for p in t.parameters])
    return values, t.report().arena_bytes, t.report().notes


ours, size, notes = train(RANKS, 1 + 2 * RANKS.rank)
assert any("memory that the ranks share" in note for note in notes), notes
expected, _, _ = train(tg.fixed_order(RANKS), 1 + 2 * RANKS.rank)
assert np.array_equal(ours, expected)
say(size)
""",
    )
    assert ran.returncode == 0, ran.stderr
    assert len(set(ran.stdout.split())) == 2
