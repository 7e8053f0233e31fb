# SPDX-License-Identifier: MIT
"""Layers in inference form within a training graph: Layer.uses_inference_form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg
from traingraph import layers

if TYPE_CHECKING:
    from pathlib import Path

MEAN = np.array([0.5, -1, 2], np.float32)
VARIANCE = np.array([0.25, 4, 1], np.float32)
GAMMA = np.array([2, 0.5, -1], np.float32)
BETA = np.array([1, 0, -3], np.float32)
EPSILON = 1e-3


def make_norm(**options: Any) -> layers.BatchNormalization:
    tensors = {"mean": MEAN, "variance": VARIANCE, "gamma": GAMMA, "beta": BETA}
    norm = layers.BatchNormalization(
        3, variance_epsilon=EPSILON, name="norm", **(tensors | options)
    )
    norm.uses_inference_form = True
    return norm


def make_training(*chain: layers.Layer, rate: float = 0.5, **options: Any) -> Any:
    """Its loss is half the sum of squares, so that y is the gradient of y."""
    x = tg.Tensor((8, 3, 2), name="x")
    graph = tg.Graph()
    y = graph.sequence(x, *chain)
    graph.node(tg.losses.Value("sum", weight=0.5), y * y)
    optimizer = tg.optimizers.SGD(rate) if tg.parameters_of(graph) else None
    training = tg.TrainingGraph([graph], None, optimizer)
    training.add_inputs({"x": x})
    training.add_outputs({"y": y})
    training.compile("cpu", compute_all_gradients=True, **options)
    return training, x


@pytest.fixture
def x(rng: np.random.Generator) -> np.ndarray[Any, Any]:
    return rng.standard_normal((8, 3, 2), dtype=np.float32)


def column(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return values.astype(np.float64)[:, None]


def test_a_normalization_takes_its_running_statistics_and_leaves_them(x: Any) -> None:
    norm = make_norm()
    training, source = make_training(norm)
    normalized = (x - column(MEAN)) / np.sqrt(column(VARIANCE) + EPSILON)
    y = column(GAMMA) * normalized + column(BETA)

    result = training.execute_forward({"x": x}).result()
    training.execute_gradient()
    np.testing.assert_allclose(result.outputs["y"], y, rtol=1e-4, atol=1e-5)
    dx = y * column(GAMMA) / np.sqrt(column(VARIANCE) + EPSILON)
    for gradient, expected in (
        (training.gradient_tensor(source).numpy(), dx),
        (training.gradient_data(norm.gamma), (y * normalized).sum((0, 2))),
        (training.gradient_data(norm.beta), y.sum((0, 2))),
    ):
        np.testing.assert_allclose(gradient, expected, rtol=1e-3, atol=1e-3)
    training.execute_optimizer_update().wait()
    state = training.state_dict()
    np.testing.assert_array_equal(state["norm.mean"], MEAN)
    np.testing.assert_array_equal(state["norm.variance"], VARIANCE)
    assert not np.array_equal(state["norm.gamma"], GAMMA)


def test_gradients_are_those_of_central_differences(x: Any) -> None:
    training, source = make_training(
        layers.Convolution(3, (1, 3), name="conv"), make_norm(), layers.Tanh(), rate=0
    )
    training.execute_forward({"x": x})
    training.execute_gradient()
    gradient = training.gradient_tensor(source).numpy()
    norm = np.linalg.norm(gradient)
    step = 1e-2 * gradient / norm
    above, below = (
        training.execute({"x": x + move}).result().loss for move in (step, -step)
    )
    assert (above - below) / 2e-2 == pytest.approx(norm, rel=1e-2)


def test_a_step_is_its_phases(x: Any) -> None:
    """Fused with the sum and the ReLU behind it, too."""
    states = []
    for in_phases in (True, False):
        tg.set_seed(1)
        training, _ = make_training(
            layers.Convolution(3, (1, 3), name="conv"), make_norm(), layers.ReLU()
        )
        for _ in range(3):
            if in_phases:
                training.execute_forward({"x": x})
                training.execute_gradient()
                training.execute_optimizer_update()
            else:
                training.execute({"x": x})
        states.append(training.state_dict())
    for name, values in states[0].items():
        np.testing.assert_array_equal(states[1][name], values)


def test_a_sample_does_not_depend_on_its_batch(x: Any) -> None:
    training, _ = make_training(make_norm(), rate=0)
    whole = training.execute({"x": x}).result().outputs["y"]
    one = training.execute({"x": x[5:6]}).result().outputs["y"]
    np.testing.assert_array_equal(one, whole[5:6])


def test_parameters_may_be_frozen_as_well(x: Any) -> None:
    norm = make_norm()
    norm.gamma_parameter.is_updatable = False
    training, _ = make_training(layers.Convolution(3, (1, 3), name="conv"), norm)
    training.execute({"x": x}, synchronous=True)
    state = training.state_dict()
    np.testing.assert_array_equal(state["norm.gamma"], GAMMA)
    assert not np.array_equal(state["norm.beta"], BETA)


def test_dropout_passes_its_source_on(x: Any) -> None:
    dropout = layers.Dropout(0.5)
    dropout.uses_inference_form = True
    training, _ = make_training(dropout, layers.Dropout(0.5, 7))
    y = training.execute({"x": x}).result().outputs["y"]
    kept = y != 0
    np.testing.assert_array_equal(y[kept], 2 * x[kept])
    assert 0.2 < kept.mean() < 0.8
    # The other one drops what it would drop beside a dropout that drops.
    both, _ = make_training(layers.Dropout(0.5), layers.Dropout(0.5, 7))
    others = both.execute({"x": x}).result().outputs["y"] != 0
    assert not np.any(others & ~kept)


def test_attention_and_instances(rng: np.random.Generator) -> None:
    attention = layers.MultiheadAttention(4, 2, dropout=0.9)
    norm = layers.InstanceNormalization(5, mean=np.ones(5, np.float32))
    attention.uses_inference_form = norm.uses_inference_form = True
    x = tg.Tensor((2, 5, 4), name="x")
    graph = tg.Graph()
    h = graph.node(norm, x)
    y = graph.node(attention, [h, h, h])
    graph.node(tg.losses.Value(), y * y)
    training = tg.TrainingGraph([graph], None, tg.optimizers.SGD(0))
    training.add_inputs({"x": x})
    training.add_outputs({"y": y})
    training.compile("cpu")
    data = rng.standard_normal((2, 5, 4), dtype=np.float32)
    trained = training.execute({"x": data}).result()
    inferred = training.execute({"x": data}, forward_for_inference=True).result()
    np.testing.assert_allclose(
        trained.outputs["y"], inferred.outputs["y"], rtol=1e-5, atol=1e-6
    )
    np.testing.assert_array_equal(norm.mean.numpy(), np.ones(5))


def test_a_sequential_is_all_of_its_layers() -> None:
    chain = layers.Sequential(
        layers.Dropout(0.5), layers.Sequential(layers.BatchNormalization())
    )
    assert not chain.uses_inference_form
    chain[0].uses_inference_form = True
    assert not chain.uses_inference_form
    chain.uses_inference_form = True
    assert chain[1][0].uses_inference_form
    chain.uses_inference_form = False
    assert not chain[0].uses_inference_form


def test_a_change_after_compile_is_refused(x: Any) -> None:
    norm = make_norm()
    training, _ = make_training(norm)
    norm.uses_inference_form = False
    with pytest.raises(tg.StateError, match="uses_inference_form has changed"):
        training.execute({"x": x})
    training.compile("cpu")
    training.execute({"x": x}, synchronous=True)
    assert not np.array_equal(training.state_dict()["norm.mean"], MEAN)


def test_an_artefact_keeps_the_form(x: Any, tmp_path: Path) -> None:
    training, _ = make_training(make_norm(), layers.Dropout(0.5))
    training.export_graph(tmp_path / "net.tg.safetensors")
    training.save(tmp_path / "net.safetensors")
    loaded = tg.TrainingGraph.load(tmp_path / "net.tg.safetensors")
    for _ in range(2):
        steps = [graph.execute({"x": x}).result().loss for graph in (training, loaded)]
        assert steps[0] == steps[1]
    np.testing.assert_array_equal(loaded.state_dict()["norm.mean"], MEAN)
    loaded.restore(tmp_path / "net.safetensors")
    np.testing.assert_array_equal(loaded.state_dict()["norm.gamma"], GAMMA)


def test_mixed_precision_and_accumulation(x: Any) -> None:
    training, _ = make_training(
        layers.Convolution(3, (1, 3), name="conv"),
        make_norm(),
        precision="mixed-bfloat16",
        accumulate_gradients=True,
    )
    for part in (x[:4], x[4:]):
        training.execute_forward({"x": part})
        training.execute_gradient(accumulate="sum")
    training.execute_optimizer_update().wait()
    np.testing.assert_array_equal(training.state_dict()["norm.variance"], VARIANCE)
