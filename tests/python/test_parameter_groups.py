# SPDX-License-Identifier: MIT
"""Parameters for which an optimizer has another rate or decay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

if TYPE_CHECKING:
    from pathlib import Path


def make(
    optimizer: Any, groups: Any
) -> tuple[tg.TrainingGraph, tg.layers.FullyConnected]:
    x, y = tg.Tensor((4, 3), name="x"), tg.Tensor((4, 2), name="y")
    values = np.random.default_rng(1).normal(size=(2, 3)).astype(np.float32)
    layer = tg.layers.FullyConnected(weights=values, biases=np.ones(2, np.float32))
    layer.name = "fc"
    graph = tg.Graph()
    graph.node(layer, x)
    training = tg.TrainingGraph([graph], tg.losses.MeanSquaredError(), optimizer)
    training.add_inputs({"x": x}, {"y": y})
    training.set_parameter_groups(groups(layer))
    training.compile("cpu")
    return training, layer


def step(training: tg.TrainingGraph) -> None:
    rng = np.random.default_rng(2)
    training.execute(
        {"x": rng.normal(size=(4, 3)).astype(np.float32)},
        {"y": rng.normal(size=(4, 2)).astype(np.float32)},
        synchronous=True,
    )


def test_a_group_is_another_rate() -> None:
    scaled, a = make(
        tg.optimizers.SGD(0.5), lambda fc: [tg.ParameterGroup([fc.weights], 0.25)]
    )
    slow, b = make(tg.optimizers.SGD(0.125), lambda _: [])
    fast, c = make(tg.optimizers.SGD(0.5), lambda _: [])
    for training in (scaled, slow, fast):
        step(training)
    np.testing.assert_array_equal(a.weights.numpy(), b.weights.numpy())
    np.testing.assert_array_equal(a.biases.numpy(), c.biases.numpy())


def test_no_decay_of_biases() -> None:
    def decaying() -> tg.optimizers.AdamW:
        return tg.optimizers.AdamW(0.1, regularization_scale=0.5)

    grouped, a = make(
        decaying(),
        lambda fc: [tg.ParameterGroup([fc.biases], weight_decay=0)],
    )
    plain, b = make(tg.optimizers.Adam(0.1), lambda _: [])
    decays, c = make(decaying(), lambda _: [])
    for training in (grouped, plain, decays):
        step(training)
    np.testing.assert_array_equal(a.biases.numpy(), b.biases.numpy())
    np.testing.assert_array_equal(a.weights.numpy(), c.weights.numpy())


def test_fields() -> None:
    tensor = tg.Tensor((2,), name="p")
    group = tg.ParameterGroup([tensor], lr_scale=0.5, weight_decay=0.25)
    assert group.parameters == [tensor]
    assert (group.lr_scale, group.weight_decay) == (0.5, 0.25)
    assert tg.ParameterGroup([]).weight_decay is None
    assert repr(group).startswith("ParameterGroup([p], lr_scale=0.5")


def test_what_is_refused() -> None:
    def refused(optimizer: Any, *args: Any, **options: Any) -> pytest.ExceptionInfo:
        with pytest.raises(tg.InvalidArgument) as error:
            make(
                optimizer,
                lambda fc: [tg.ParameterGroup([fc.weights], *args, **options)],
            )
        return error

    sgd = tg.optimizers.SGD(0.1)
    assert refused(sgd, lr_scale=-1).value.node == "lr_scale"
    assert refused(sgd, weight_decay=float("nan")).value.node == "weight_decay"
    assert "has none" in str(refused(sgd, weight_decay=0.1).value)
    training, layer = make(sgd, lambda _: [])
    with pytest.raises(tg.StateError):
        training.set_parameter_groups([tg.ParameterGroup([layer.weights])])


def test_checkpoints_compare_groups(tmp_path: Path) -> None:
    def grouped(scale: float) -> tuple[tg.TrainingGraph, tg.layers.FullyConnected]:
        return make(
            tg.optimizers.SGD(0.5),
            lambda fc: [tg.ParameterGroup([fc.weights], scale)],
        )

    path = tmp_path / "net"
    first, _ = grouped(0.25)
    step(first)
    first.save(path)
    same, _ = grouped(0.25)
    same.restore(path)
    for other in (grouped(0.5)[0], make(tg.optimizers.SGD(0.5), lambda _: [])[0]):
        with pytest.raises(tg.InvalidArgument, match="parameter_groups") as error:
            other.restore(path)
        assert "fc.weights: lr_scale 0.25" in str(error.value)
        other.restore(path, strict=False)
    plain, _ = make(tg.optimizers.SGD(0.5), lambda _: [])
    plain.save(path)
    with pytest.raises(tg.InvalidArgument, match="parameter_groups"):
        same.restore(path)
