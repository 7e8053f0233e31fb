# SPDX-License-Identifier: MIT
"""Ranks that are threads, with links between them that have a bandwidth and a latency.

Sums go round a ring, part by part, as in Patarasuk and Yuan (2009): what a rank
sends takes latency + bytes / bandwidth, and it may receive meanwhile.
"""

from __future__ import annotations

import queue
import time
from dataclasses import dataclass

import numpy as np

PATIENCE = 60.0


@dataclass(frozen=True)
class Link:
    bandwidth: float  # bytes per second
    latency: float  # seconds


class RingRank:
    def __init__(self, rank: int, inboxes: list[queue.Queue], link: Link) -> None:
        self.rank, self.size = rank, len(inboxes)
        self._link = link
        self._inbox = inboxes[rank]
        self._outbox = inboxes[(rank + 1) % self.size]

    def _pass_on(self, array: np.ndarray) -> np.ndarray:
        """Sends to the next rank, returns what the one before has sent."""
        copy = array.copy()
        end = time.perf_counter() + self._link.latency
        end += array.nbytes / self._link.bandwidth
        time.sleep(max(0.0, end - time.perf_counter()))
        self._outbox.put(copy)
        return self._inbox.get(timeout=PATIENCE)

    def all_reduce(self, array: np.ndarray) -> None:
        parts = np.array_split(array, self.size)
        for i in range(self.size - 1):
            received = self._pass_on(parts[(self.rank - i) % self.size])
            parts[(self.rank - i - 1) % self.size][:] += received
        for i in range(self.size - 1):
            received = self._pass_on(parts[(self.rank - i + 1) % self.size])
            parts[(self.rank - i) % self.size][:] = received

    def all_gather(self, part: np.ndarray, all: np.ndarray) -> None:
        parts = np.split(all, self.size)
        parts[self.rank][:] = part
        for i in range(self.size - 1):
            received = self._pass_on(parts[(self.rank - i) % self.size])
            parts[(self.rank - i - 1) % self.size][:] = received

    def broadcast(self, array: np.ndarray, root: int) -> None:
        everything = np.empty((self.size, *array.shape), array.dtype)
        self.all_gather(array.copy(), everything.reshape(-1))
        array[:] = everything[root]


def ring(size: int, link: Link) -> list[RingRank]:
    inboxes: list[queue.Queue] = [queue.Queue() for _ in range(size)]
    return [RingRank(rank, inboxes, link) for rank in range(size)]
