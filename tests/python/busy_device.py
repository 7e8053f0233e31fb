# SPDX-License-Identifier: MIT
"""Honest work that keeps the CPU's queue busy for about a second."""

from __future__ import annotations

import functools
import math
import time

import numpy as np

import traingraph as tg

SECONDS = 1.0
SIZE, PRODUCTS = 1024, 40


@functools.cache
def _products() -> tuple[tg.InferenceGraph, float]:
    """A chain of products, and how long one run takes here."""
    x = tg.Tensor((SIZE // 4, SIZE))
    w = tg.Tensor((SIZE, SIZE), data=np.eye(SIZE, dtype=np.float32))
    graph = tg.Graph()
    y = x
    for _ in range(PRODUCTS):
        y = graph.ops.matmul(y, w)
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({"x": x})
    inference.compile("cpu")
    inference.bind_and_write_data({"x": np.ones(x.shape, np.float32)})
    inference.execute(synchronous=True)
    start = time.perf_counter()
    inference.execute(synchronous=True)
    return inference, time.perf_counter() - start


def occupy(seconds: float = SECONDS) -> None:
    """Whatever is enqueued next is not over for about as long.

    On a machine that does other work, too, it may be over much earlier.
    """
    inference, each = _products()
    for _ in range(min(math.ceil(seconds / each), 60)):  # 64 are in flight
        inference.execute()
