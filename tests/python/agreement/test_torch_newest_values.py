# SPDX-License-Identifier: MIT
"""PyTorch, JAX and others read the newest values of a tensor, in copies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Callable

torch = pytest.importorskip("torch")

WAYS: dict[str, Callable[[tg.Tensor], Any]] = {
    "torch.from_dlpack": torch.from_dlpack,
    "torch.utils.dlpack": lambda t: torch.utils.dlpack.from_dlpack(
        t.__dlpack__(max_version=(1, 0))
    ),
    "before DLPack 1": lambda t: torch.utils.dlpack.from_dlpack(t.__dlpack__()),
    "torch.as_tensor": torch.as_tensor,
    "torch.tensor": lambda t: torch.tensor(np.asarray(t)),
    "torch.asarray": torch.asarray,
    "torch.tensor of data": lambda t: torch.tensor(t.data),
}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("way", WAYS)
def test_newest_values(way: str, dtype: str) -> None:
    if dtype == "bfloat16" and way.startswith(("torch.tensor", "torch.as")):
        pytest.skip("goes through NumPy, which has no bfloat16")
    weights = tg.Tensor((3, 5), dtype, data=np.zeros((3, 5)))
    biases = tg.Tensor((3,), dtype, data=np.zeros(3))
    x = tg.Tensor((4, 5), dtype, name="x")
    graph = tg.Graph()
    dense = tg.layers.FullyConnected(5, 3, weights=weights, biases=biases)
    y = graph.ops.cast(graph.node(dense, x), data_type="float32")
    labels = tg.Tensor((4, 3), name="y")
    graph.node(tg.losses.MeanSquaredError(), y, loss_labels=[labels])
    training = tg.TrainingGraph([graph], optimizer=tg.optimizers.SGD(0.1))
    training.add_inputs({"x": x}, {"y": labels})
    training.compile("cpu")
    for target in (1, 2):
        for _ in range(20):
            training.execute({"x": np.ones((4, 5))}, {"y": np.full((4, 3), target)})
        read = WAYS[way](weights)
        expected = weights.numpy(dtype="float32")
        assert np.all(expected != 0)
        np.testing.assert_array_equal(read.float().numpy(), expected)
        read += 1  # in memory of its own
        np.testing.assert_array_equal(weights.numpy(dtype="float32"), expected)
