# SPDX-License-Identifier: MIT
"""Parts of tensors of every small shape: where an axis has one element, layouts are
hard to tell apart."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import traingraph as tg

Array = np.ndarray[Any, Any]
SHAPES = [
    *itertools.product((1, 2, 3), repeat=3),
    *itertools.product((1, 2), (1, 2, 16, 17), (1, 3), (1, 2)),
]


def gradient_and_value(x: tg.Tensor, y: tg.Tensor, graph: tg.Graph) -> dict[str, Array]:
    """y, and the gradient of the sum of squares of y by x, which is random."""
    training = tg.TrainingGraph(
        [graph], tg.losses.MeanSquaredError(reduction_type="sum")
    )
    target = tg.Tensor(y.shape, name="target", batch_axis=None)
    training.add_inputs({"x": x}, {"target": target})
    training.add_outputs({"y": y})
    training.compile("cpu", compute_all_gradients=True)
    data = np.random.default_rng(1).normal(size=x.shape).astype(np.float32)
    zeros = np.zeros(y.shape, np.float32)
    run = training.execute_forward({"x": data}, {"target": zeros}).result()
    training.execute_gradient().wait()
    gradient = training.gradient_tensor(x)
    assert gradient is not None
    return {"x": data, "y": run.outputs["y"].copy(), "dx": gradient.numpy().copy()}


def require_kept(found: dict[str, Array], kept: list[int], axis: int) -> None:
    """y has the entries `kept` of x on the axis."""
    expected = np.take(found["x"], kept, axis)
    np.testing.assert_array_equal(found["y"], expected)
    counts = np.bincount(kept, minlength=found["x"].shape[axis])
    shape = [1] * found["x"].ndim
    shape[axis] = len(counts)
    gradient = 2 * found["x"] * counts.reshape(shape)
    np.testing.assert_allclose(found["dx"], gradient, rtol=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_concatenations_and_splits(shape: tuple[int, ...]) -> None:
    for axis, size in enumerate(shape):
        graph = tg.Graph()
        x = tg.Tensor(shape, name="x", batch_axis=None)
        twice = graph.ops.concatenate(x, x, axis=axis)
        left, right = graph.ops.split(twice, (2 * size - 1, 1), axis)
        y = graph.ops.concatenate(right, left, axis=axis)
        kept = [size - 1, *range(size), *range(size - 1)]
        require_kept(gradient_and_value(x, y, graph), kept, axis)


@pytest.mark.parametrize("shape", SHAPES)
def test_slices(shape: tuple[int, ...]) -> None:
    for axis, size in enumerate(shape):
        for first, step in {(0, 1), (size - 1, 1), (size // 2, 1), (0, 2)}:
            graph = tg.Graph()
            x = tg.Tensor(shape, name="x", batch_axis=None)
            start, stride = [0] * len(shape), [1] * len(shape)
            start[axis], stride[axis] = first, step
            y = graph.ops.slice(x, start=start, end=shape, stride=stride)
            kept = list(range(first, size, step))
            require_kept(gradient_and_value(x, y, graph), kept, axis)
