# SPDX-License-Identifier: MIT
"""Ranks of one machine, which exchange through memory that they share."""

from __future__ import annotations

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
    tg.set_seed(1)
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
    step(t, OWN[: 1 + RANKS.rank])
    phases(t, OWN)
    step(t, OWN)
    return values(t)

ours, expected = train(RANKS), train(tg.fixed_order(RANKS))
assert np.isfinite(ours).all()
assert np.array_equal(ours, expected)
""",
    )


def test_gradients_that_the_program_sums_itself() -> None:
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
