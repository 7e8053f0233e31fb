# SPDX-License-Identifier: MIT
"""compile(shard_optimizer=, reduce_losses=)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from .mpi_ranks import needs_mpi, run_ranks
from .test_data_parallel import (
    NETWORK,
    ThreadRank,
    assert_ends_well,
    build,
    build_rank,
    on_ranks,
    rows_of,
    step,
    values,
)

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("size", [1, 2, 3])
def test_shares_of_the_optimizer_change_no_bit(size: int, tmp_path: Path) -> None:
    path = tmp_path / "net.safetensors"

    def run(ranks: ThreadRank) -> tuple[np.ndarray, np.ndarray, int]:
        whole = build_rank(ranks)
        for _ in range(3):
            step(whole, rows_of(ranks.rank, size)).wait()
        t = build_rank(ranks, shard_optimizer=True)
        for _ in range(3):
            step(t, rows_of(ranks.rank, size)).wait()
        t.save(path)  # all ranks; there when it returns
        assert path.exists()
        return values(whole), values(t), t.memory.optimizer_bytes

    results = on_ranks(size, run)
    for whole, shared, _ in results:
        assert np.array_equal(shared, whole)
    t = build(seed=3)
    t.restore(path)
    assert np.array_equal(values(t), results[0][0])
    buffers = [result[2] for result in results]
    assert sum(buffers) == t.memory.optimizer_bytes
    assert max(buffers) <= t.memory.optimizer_bytes / size + 2 * 64


def test_losses_of_all_ranks() -> None:
    def run(ranks: ThreadRank) -> float:
        t = build_rank(ranks, reduce_losses=True)
        return (
            step(t, np.arange(24)[:7] if ranks.rank else np.arange(7, 24)).result().loss
        )

    results = on_ranks(2, run)
    assert results[0] == results[1]
    expected = step(build(), np.arange(24)).result().loss
    # 24 samples in another order: 24 roundings of 2^-24 are 1.4e-6.
    np.testing.assert_allclose(results[0], expected, rtol=2e-6)


@needs_mpi
def test_mpi_ranks_share_out_the_optimizer(tmp_path: Path) -> None:
    script = (
        NETWORK
        + """
c = tg.mpi_collective()
rows = np.array_split(np.arange(24), c.size)[c.rank]
t = build(collective=c, shard_optimizer=True)
for _ in range(3):
    step(t, rows)
t.save(sys.argv[1])
for _ in range(3):
    step(t, rows)
t.synchronize()
r = build(seed=9, collective=c)
r.restore(sys.argv[1])
for _ in range(3):
    step(r, rows)
r.synchronize()
assert np.array_equal(values(r), values(t))
assert t.memory.optimizer_bytes < 0.6 * r.memory.optimizer_bytes
say("fine", c.rank)
"""
    )
    run = run_ranks(3, script, arguments=(str(tmp_path / "net.safetensors"),))
    assert_ends_well(run, 3)
