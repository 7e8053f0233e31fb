# SPDX-License-Identifier: MIT
"""A NaN that makes a result NaN gets its gradient: what diverged does not look
flat."""

from __future__ import annotations

import numpy as np
import pytest

import traingraph as tg


@pytest.mark.parametrize("channels", [1, 16])
def test_a_nan_in_a_window_of_max_pooling_gets_the_gradient(channels: int) -> None:
    x = tg.Tensor((1, channels, 4, 4), name="x")
    graph = tg.Graph()
    y = graph.node(tg.layers.MaxPooling(2), x)
    training = tg.TrainingGraph([graph])
    training.add_inputs({"x": x})
    incoming = training.allocate_user_gradient(y)
    training.compile("cpu", compute_all_gradients=True)
    values = np.arange(channels * 16, dtype=np.float32).reshape(x.shape)
    expected = np.zeros(x.shape, np.float32)
    expected[..., 1::2, 1::2] = 1  # the last sample of each window
    values[..., 0, 1] = np.nan
    expected[..., 0, 1], expected[..., 1, 1] = 1, 0
    training.execute_forward({"x": values}).wait()
    ones = np.ones(y.shape, np.float32)
    training.bind_and_write_data({"u": ones}, {"u": incoming})
    training.execute_gradient().wait()
    gradient = training.gradient_tensor(x)
    assert gradient is not None
    np.testing.assert_array_equal(gradient.numpy(), expected)
