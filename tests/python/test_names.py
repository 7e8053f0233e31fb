# SPDX-License-Identifier: MIT
"""Names of parameters, losses by label, and options that are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Callable


def test_parameters_are_named_after_their_layer() -> None:
    dense = tg.layers.FullyConnected(4, 3, name="fc")
    assert dense.weights.name == "fc.weights"
    assert dense.biases is not None
    assert dense.biases.name == "fc.biases"
    norm = tg.layers.BatchNormalization(3, name="bn")
    assert [p.tensor.name for p in norm.parameters] == ["bn.beta", "bn.gamma"]
    assert [s.name for s in norm.statistics] == ["bn.mean", "bn.variance"]


def test_arrays_are_named_as_what_the_layer_makes() -> None:
    weights = np.ones((3, 4), np.float32)
    dense = tg.layers.FullyConnected(4, 3, weights=weights, name="fc")
    assert dense.weights.name == "fc.weights"
    gamma = np.ones(3, np.float32)
    norm = tg.layers.BatchNormalization(
        3, mean=gamma, variance=gamma, gamma=gamma, beta=gamma, name="bn"
    )
    assert norm.gamma.name == "bn.gamma"
    own = tg.Tensor((3, 4), name="mine", data=weights)
    assert tg.layers.FullyConnected(4, 3, weights=own).weights.name == "mine"


def test_names_without_labels_follow_the_order_of_nodes() -> None:
    graph = tg.Graph()
    x = tg.Tensor((2, 4))
    layers = [tg.layers.FullyConnected(4, 4) for _ in range(3)]
    for layer in reversed(layers):
        x = graph.node(layer, x)
    assert [layer.weights.name for layer in layers] == [
        "fully_connected_3.weights",
        "fully_connected_2.weights",
        "fully_connected.weights",
    ]
    with pytest.raises(tg.StateError, match="part of a graph"):
        layers[0].name = "late"


def test_equal_names_are_refused_with_both_places() -> None:
    graph = tg.Graph()
    x = graph.node(tg.layers.ReLU(name="act"), tg.Tensor((2, 4)))
    with pytest.raises(tg.InvalidArgument, match=r"node 0 \(ReLU\).*node 1 \(Tanh\)"):
        graph.node(tg.layers.Tanh(name="act"), x)


def test_losses_by_label() -> None:
    x = tg.Tensor((4, 2), name="x")
    t = tg.Tensor((4, 2), name="t")
    graph = tg.Graph()
    y = graph.node(tg.layers.Affine(2.0), x)
    mse = tg.losses.MeanSquaredError(name="mse")
    mae = tg.losses.MeanAbsoluteError(weight=0.5, name="mae")
    for loss in (mse, mae):
        graph.node(loss, y, loss_labels=[t])
    training = tg.TrainingGraph([graph])
    training.add_inputs({"x": x}, {"t": t})
    training.compile("cpu")
    values = np.arange(8, dtype=np.float32).reshape(4, 2)
    result = training.execute({"x": values}, {"t": values}).result()
    expected = {"mse": np.mean(values**2), "mae": 0.5 * np.mean(values)}
    assert result.losses == pytest.approx(expected)
    assert list(result.losses) == ["mse", "mae"]
    assert result.loss == pytest.approx(sum(expected.values()))


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "kernel": (lambda: tg.layers.Convolution(1, 8, None), "kernel_size"),
    "initializer": (
        lambda: tg.layers.FullyConnected(
            2, 2, weights=np.zeros((2, 2), np.float32), initializer="uniform"
        ),
        "initializer",
    ),
    "dense kernel": (
        lambda: tg.layers.FullyConnected(tg.layers.ConvolutionDescriptor(3, 2, 2)),
        "kernel_size",
    ),
    "padding counted": (
        lambda: tg.layers.Pooling("max", 2, count_includes_padding=True),
        "count_includes_padding",
    ),
    "padding sizes": (
        lambda: tg.layers.ConvolutionDescriptor(3, 2, 2, padding_sizes=1),
        "padding_sizes",
    ),
    "loss type": (
        lambda: tg.losses.Huber(tg.losses.LossDescriptor("mean_squared_error")),
        "loss_type",
    ),
    "delta": (lambda: tg.losses.LossDescriptor("hinge", delta=2.0), "delta"),
    "activation": (lambda: tg.layers.Activation("sigmoid", a=2.0), "a is"),
    "decay": (
        lambda: tg.optimizers.AdamW(0.1, regularization_type="l2"),
        "regularization_type",
    ),
    "nesterov": (
        lambda: tg.optimizers.SGD(0.1, uses_nesterov_momentum=True),
        "momentum_scale",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_options_without_effect_are_refused(name: str) -> None:
    make, words = REFUSED[name]
    with pytest.raises(tg.InvalidArgument, match=words):
        make()


def test_given_weights_keep_the_biases() -> None:
    weights = np.ones((3, 4), np.float32)
    layer = tg.layers.FullyConnected(4, 3, weights=weights)
    assert layer.biases is not None
    assert not np.any(layer.biases.numpy())
    assert tg.layers.FullyConnected(weights=weights).biases is not None
    without = tg.layers.FullyConnected(weights=weights, uses_biases=False)
    assert without.biases is None
