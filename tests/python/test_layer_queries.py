# SPDX-License-Identifier: MIT
"""What a layer tells of itself: its device, and the data types it takes."""

from __future__ import annotations

import numpy as np
import pytest

import traingraph as tg


def test_device_type_is_none_before_compile() -> None:
    relu = tg.layers.ReLU()
    x = tg.Tensor((2, 3))
    graph = tg.Graph()
    y = graph.node(relu, x)
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({"x": x})
    inference.add_outputs({"y": y})
    assert relu.device_type is None
    inference.compile("cpu")
    assert relu.device_type == tg.mlcompute.DeviceType.cpu


@pytest.mark.parametrize(
    ("layer", "data_type", "expected"),
    [
        (tg.layers.Convolution, tg.DataType.float32, True),
        (tg.layers.Convolution, tg.DataType.int32, False),
        (tg.layers.ReLU, tg.DataType.float32, True),
        (tg.layers.Comparison, tg.DataType.int64, True),
        (tg.layers.Reshape, tg.DataType.int64, True),
        (tg.layers.Reshape, tg.DataType.float16, True),
        (tg.losses.Huber, tg.DataType.int32, False),
    ],
)
def test_supports_data_type(
    layer: type[tg.layers.Layer], data_type: tg.DataType, expected: bool
) -> None:
    assert layer.supports_data_type(data_type, "cpu") is expected
    assert layer.supports_data_type(data_type, tg.Device("cpu")) is expected


def test_fusion_does_not_change_the_result() -> None:
    def run(**options: bool) -> np.ndarray:
        tg.set_seed(3)
        x = tg.Tensor((4, 5))
        graph = tg.Graph()
        h = graph.node(tg.layers.FullyConnected(5, 7), x)
        y = graph.node(tg.layers.ReLU(), h)
        inference = tg.InferenceGraph([graph])
        inference.add_inputs({"x": x})
        inference.add_outputs({"y": y})
        inference.compile("cpu", **options)
        data = np.linspace(-1, 1, 20, dtype=np.float32).reshape(4, 5)
        return inference.execute({"x": data}).result().outputs["y"].copy()

    fused = run()
    np.testing.assert_array_equal(fused, run(disable_layer_fusion=True))
    np.testing.assert_array_equal(fused, run(debug_layers=True))
