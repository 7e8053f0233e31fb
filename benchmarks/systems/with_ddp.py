# SPDX-License-Identifier: MIT
"""The workloads in PyTorch's DistributedDataParallel over gloo, one rank of them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import torch
from torch import distributed, nn

from systems.with_torch import build, optimizer_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from workloads import Workload


def rank_steps(workload: Workload) -> tuple[int, Callable[[], float]]:
    """RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT are in the environment."""
    distributed.init_process_group("gloo")
    rank, size = distributed.get_rank(), distributed.get_world_size()
    torch.set_num_threads(1)
    plain = build(workload)
    optimizer = optimizer_of(workload, plain)
    model = nn.parallel.DistributedDataParallel(plain, gradient_as_bucket_view=True)
    batch = workload.batch // size
    part = slice(rank * batch, (rank + 1) * batch)
    upcoming = itertools.cycle(
        [
            (torch.from_numpy(images[part]), torch.from_numpy(classes[part]))
            for images, classes in workload.batches()
        ]
    )

    def step() -> float:
        images, classes = next(upcoming)
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(model(images), classes)
        loss.backward()
        optimizer.step()
        return loss.item()

    return rank, step
