# SPDX-License-Identifier: MIT
"""The example: what it learns, and its gradients against those of layers.

The data is that of the `demo` extra; the comparison needs none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from example_programs import load_example, run_main

import traingraph as tg
from traingraph import nodes

for package in ("matplotlib", "sklearn"):
    pytest.importorskip(package, reason="of the demo extra")

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

Array = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def example() -> ModuleType:
    return load_example("filter_nodes")


def test_learns_to_read_digits(
    example: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    run_main(example, monkeypatch, "--out", str(tmp_path))
    found = re.search(r"held-out accuracy: ([0-9.]+)", capsys.readouterr().out)
    assert found is not None
    # Eight seeds reached 97.2 % to 98.9 % of these 360 scans.
    assert float(found[1]) >= 97
    assert "digraph" in (tmp_path / "filter_nodes.dot").read_text()


def layer_gradients(
    weights: list[nodes.ConvolutionData], image: Array, labels: Array
) -> tuple[Array, list[Array]]:
    """Losses by image, and gradients of their sum, in the layout of layers."""
    conv1, conv2, hidden, classes = weights
    batch = len(image)
    x = tg.Tensor(image.shape, name="x")
    t = tg.Tensor((batch, 10), name="t")
    graph = tg.Graph()
    parameters = []

    def convolution(data: nodes.ConvolutionData, source: tg.Tensor) -> tg.Tensor:
        kernel = np.ascontiguousarray(data.weights.transpose(0, 3, 1, 2))
        out, channels, size, _ = kernel.shape
        layer = tg.layers.Convolution(
            channels, out, size, weights=kernel, biases=data.bias_terms
        )
        parameters.extend([layer.weights, layer.biases])
        return graph.node(layer, source)

    def dense(data: nodes.ConvolutionData, source: tg.Tensor) -> tg.Tensor:
        matrix = data.weights.transpose(0, 3, 1, 2).reshape(len(data.weights), -1)
        layer = tg.layers.FullyConnected(
            weights=np.ascontiguousarray(matrix), biases=data.bias_terms
        )
        parameters.extend([layer.weights, layer.biases])
        return graph.node(layer, source)

    h = graph.node(tg.layers.ReLU(), convolution(conv1, x))
    h = graph.node(tg.layers.MaxPooling(2), h)
    h = graph.node(tg.layers.ReLU(), convolution(conv2, h))
    h = graph.node(tg.layers.MaxPooling(2), h)
    h = graph.ops.reshape(h, shape=(batch, -1))
    h = graph.node(tg.layers.ReLU(), dense(hidden, h))
    dense(classes, h)
    training = tg.TrainingGraph(
        [graph], tg.losses.SoftmaxCrossEntropy("sum"), tg.optimizers.SGD(0)
    )
    training.add_inputs({"x": x}, {"t": t})
    training.compile("cpu")
    data = {"x": image}, {"t": np.ascontiguousarray(labels[:, :, 0, 0])}
    loss = training.execute_forward(*data).result().loss
    training.execute_gradient().wait()
    return np.array(loss), [training.gradient_data(p) for p in parameters]


def node_gradients(net: Any, image: Array, labels: Array) -> tuple[Array, list[Array]]:
    """The same of nodes."""

    def export(_: nodes.FilterNode, of: nodes.FilterNode | None, *__: Any) -> None:
        assert of is not None
        if of.class_name in ("ConvolutionNode", "FullyConnectedNode"):
            assert of.result_state is not None
            of.result_state.export_from_graph = True

    leaves = net.loss.training_graph(None, export)
    images = [leaf.result_image for leaf in leaves]
    graph = nodes.Graph("cpu", images, batch_size=len(image))
    result = graph.execute({"image": image, "labels": labels}).result()
    gradients = [
        result.output(f"{data.name}.{role}")
        for data in net.weights
        for role in ("weights", "biases")
    ]
    return result.output("loss").sum(), gradients


def test_gradients_are_those_of_layers(
    example: ModuleType, rng: np.random.Generator
) -> None:
    net = example.build(rng, tg.optimizers.SGD(1e-3))
    image = rng.random((32, 1, 8, 8), np.float32)
    labels = np.eye(10, dtype=np.float32)[rng.integers(0, 10, 32)][:, :, None, None]
    loss, gradients = node_gradients(net, image, labels)
    layer_loss, of_layers = layer_gradients(net.weights, image, labels)
    assert loss == pytest.approx(layer_loss, rel=1e-5)
    for data, by_nodes, by_layers in zip(
        np.repeat(net.weights, 2), gradients, of_layers, strict=True
    ):
        want = by_layers
        if by_nodes.ndim == 4:
            out, height, width, channels = by_nodes.shape
            want = by_layers.reshape(out, channels, height, width)
            want = want.transpose(0, 2, 3, 1)
        # The same ops on the same numbers; sums over up to 2,048 pixels of the
        # batch may be in another order.
        scale = np.abs(want).max()
        np.testing.assert_allclose(
            by_nodes, want, rtol=0, atol=2e-6 * scale, err_msg=data.name
        )
