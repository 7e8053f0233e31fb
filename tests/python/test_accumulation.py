# SPDX-License-Identifier: MIT
"""Micro-batches: gradients that are added up before one update."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import traingraph as tg

SAMPLES, FEATURES, CLASSES = 12, 5, 3


def make(loss: Any = None, **options: Any) -> tuple[tg.TrainingGraph, list[tg.Tensor]]:
    rng = np.random.default_rng(3)
    x = tg.Tensor((SAMPLES, FEATURES), name="x")
    y = tg.Tensor((SAMPLES, CLASSES), name="y")
    weights = rng.normal(size=(CLASSES, FEATURES)).astype(np.float32)
    layer = tg.layers.FullyConnected(
        weights=weights, biases=np.zeros(CLASSES, np.float32)
    )
    graph = tg.Graph()
    graph.node(layer, x)
    training = tg.TrainingGraph(
        [graph],
        loss or tg.losses.SoftmaxCrossEntropy(),
        tg.optimizers.Adam(0.1),
    )
    training.add_inputs({"x": x}, {"y": y})
    training.compile("cpu", **options)
    return training, [layer.weights, layer.biases]


def data() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(4)
    labels = np.eye(CLASSES, dtype=np.float32)[rng.integers(0, CLASSES, SAMPLES)]
    return rng.normal(size=(SAMPLES, FEATURES)).astype(np.float32), labels


def forward(training: tg.TrainingGraph, rows: slice) -> None:
    x, y = data()
    training.execute_forward(
        {"x": x[rows]}, {"y": y[rows]}, batch_size=rows.stop - rows.start
    )


@pytest.mark.parametrize("accumulate", [True, "mean"])
def test_parts_are_the_whole(accumulate: Any) -> None:
    whole, expected = make()
    parts, got = make(accumulate_gradients=True)
    for _ in range(3):
        forward(whole, slice(0, 12))
        whole.execute_gradient()
        whole.execute_optimizer_update()
        for rows in (slice(0, 5), slice(5, 6), slice(6, 12)):
            forward(parts, rows)
            parts.execute_gradient(accumulate=accumulate)
        np.testing.assert_allclose(
            parts.gradient(got[0]), whole.gradient(expected[0]), atol=1e-6
        )
        parts.execute_optimizer_update()
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5)


def test_sum() -> None:
    training, (weights, _) = make(accumulate_gradients=True)
    forward(training, slice(0, 4))
    training.execute_gradient(accumulate="sum")
    first = training.gradient(weights).copy()
    forward(training, slice(0, 4))
    training.execute_gradient(accumulate="sum")
    np.testing.assert_array_equal(training.gradient(weights), 2 * first)
    assert training.memory.accumulator_bytes == 2 * 64
    training.execute_optimizer_update(synchronous=True)
    memory = training.memory
    assert memory.predicted_bytes == memory.allocated_bytes


def test_what_is_refused() -> None:
    training, _ = make()
    forward(training, slice(0, 4))
    with pytest.raises(tg.StateError, match="accumulate_gradients"):
        training.execute_gradient(accumulate=True)
    with pytest.raises(tg.InvalidArgument, match=r"\"sum\" or \"mean\", got 'max'"):
        training.execute_gradient(accumulate="max")  # type: ignore[arg-type]
    with pytest.raises(tg.InvalidArgument, match="got 1"):
        training.execute_gradient(accumulate=1)  # type: ignore[arg-type]
    training.execute_gradient(accumulate=False, synchronous=True)


def test_inference_graphs_have_no_gradients() -> None:
    x = tg.Tensor((2, 3))
    graph = tg.Graph()
    graph.node(tg.layers.ReLU(), x)
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({"x": x})
    with pytest.raises(tg.InvalidArgument, match="accumulate_gradients"):
        inference.compile("cpu", accumulate_gradients=True)


@pytest.mark.parametrize("accumulates", [True, False])
@pytest.mark.parametrize("samples", [SAMPLES, 5])
@pytest.mark.parametrize("how", ["execute", "execute_forward"])
def test_inference_between_passes_changes_nothing(
    how: str, samples: int, accumulates: bool
) -> None:
    """Not before the next pass, nor before the update, in whatever batch size."""
    plain, expected = make(accumulate_gradients=accumulates)
    watched, got = make(accumulate_gradients=accumulates)
    options = {"accumulate": True} if accumulates else {}
    x, _ = data()

    def infer() -> None:
        call = getattr(watched, how)
        call(
            {"x": 3 * x[:samples]}, batch_size=samples, forward_for_inference=True
        ).wait()

    for training, between in ((plain, lambda: None), (watched, infer)):
        for _ in range(2):
            for rows in (slice(0, 8), slice(8, 12)):
                forward(training, rows)
                training.execute_gradient(**options)
                between()
            between()
            training.execute_optimizer_update().wait()
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())


def test_inference_uses_up_a_forward_pass() -> None:
    """A gradient pass reads its inputs, which inference has written over."""
    training, _ = make()
    forward(training, slice(0, 12))
    training.execute({"x": data()[0]}, forward_for_inference=True)
    with pytest.raises(tg.StateError, match="no forward pass"):
        training.execute_gradient()
