# SPDX-License-Identifier: MIT
"""The LSTM layer against an independent one in float64: every option."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from lstm_reference import LSTM, Weights, sigmoid

import traingraph as tg

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

# Four recurrent steps of float32 sums of some ten terms.
TOLERANCE = {"rtol": 1e-5, "atol": 2e-6}

N, T, IN, H = 3, 4, 5, 6

OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "layers": {"layer_count": 3},
    "bidirectional": {"bidirectional": True},
    "bidirectional layers": {"bidirectional": True, "layer_count": 2},
    "without biases": {"uses_biases": False},
    "last step": {"returns_sequences": False},
    "last step of both": {"returns_sequences": False, "bidirectional": True},
    "time first": {"batch_first": False},
    "last step, time first": {"batch_first": False, "returns_sequences": False},
    "dropout at inference": {"layer_count": 2, "dropout": 0.5},
}
SOURCES: dict[str, tuple[bool, bool, bool]] = {
    # initial state, initial cell, lengths
    "x": (False, False, False),
    "state": (True, False, False),
    "states": (True, True, False),
    "lengths": (False, False, True),
    "state and lengths": (True, False, True),
    "states and lengths": (True, True, True),
}


def random(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape, np.float32) * np.float32(0.5)


def make_weights(
    rng: np.random.Generator, options: dict[str, Any], *, peepholes: bool = False
) -> list[Weights]:
    directions = 2 if options.get("bidirectional") else 1
    sets = []
    for _ in range(directions):
        for layer in range(options.get("layer_count", 1)):
            size = IN if layer == 0 else directions * H
            bias = random(rng, 4 * H) if options.get("uses_biases", True) else None
            peephole = random(rng, 4 * H) if peepholes else None
            sets.append(
                Weights(random(rng, 4 * H, size), random(rng, 4 * H, H), bias, peephole)
            )
    return sets


def lists_of(sets: list[Weights], *, by_gate: bool) -> dict[str, list[Array]]:
    """The weights as the layer takes them."""
    lists: dict[str, list[Array]] = {}
    for name, key in (
        ("input", "input_weights"),
        ("hidden", "hidden_weights"),
        ("bias", "biases"),
        ("peephole", "peephole_weights"),
    ):
        arrays = [getattr(each, name) for each in sets]
        if arrays[0] is None:
            continue
        if by_gate:
            arrays = [gate for array in arrays for gate in np.split(array, 4)]
        lists[key] = arrays
    return lists


class Case:
    """A layer, its float64 counterpart, and data."""

    def __init__(
        self,
        rng: np.random.Generator,
        options: dict[str, Any],
        *,
        sources: tuple[bool, bool, bool] = (False, False, False),
        by_gate: bool = False,
        peepholes: bool = False,
        activations: dict[str, Any] | None = None,
    ) -> None:
        self.options = options
        sets = make_weights(rng, options, peepholes=peepholes)
        self.layer = tg.layers.LSTM(
            IN,
            H,
            **options,
            **lists_of(sets, by_gate=by_gate),
            **(activations or {}),
            result_mode="output_and_states",
        )
        self.reference = LSTM(sets, options.get("layer_count", 1))
        directions = (
            self.layer.descriptor.layer_count,
            len(sets) // (options.get("layer_count", 1)),
        )
        self.data: dict[str, Array] = {"x": random(rng, N, T, IN)}
        if sources[0]:
            self.data["h0"] = random(rng, *directions, N, H)
        if sources[1]:
            self.data["c0"] = random(rng, *directions, N, H)
        if sources[2]:
            self.data["lengths"] = np.array([2, 4, 1], np.int32)

    def expected(self) -> list[Array]:
        wide = {
            k: v if k == "lengths" else v.astype(np.float64)
            for k, v in self.data.items()
        }
        y, h, c = self.reference(**wide)  # type: ignore[arg-type]
        if not self.options.get("returns_sequences", True):
            last = [h[-1, d] for d in range(h.shape[1])]
            y = np.concatenate(last, 1)[:, None]
        if not self.options.get("batch_first", True):
            y = y.swapaxes(0, 1)
        return [y, h, c]

    def inputs(self) -> tuple[dict[str, tg.Tensor], dict[str, Array]]:
        data = dict(self.data)
        is_time_first = not self.options.get("batch_first", True)
        if is_time_first:
            data["x"] = np.ascontiguousarray(data["x"].swapaxes(0, 1))
        axes = {"x": 1 if is_time_first else 0, "h0": 2, "c0": 2, "lengths": 0}
        tensors = {
            k: tg.Tensor(v.shape, v.dtype.name, name=k, batch_axis=axes[k])
            for k, v in data.items()
        }
        return tensors, data

    def run(self) -> list[Array]:
        graph = tg.Graph()
        tensors, data = self.inputs()
        graph.node(self.layer, list(tensors.values()))
        results = graph.result_tensors(self.layer)
        inference = tg.InferenceGraph([graph])
        inference.add_inputs(tensors)
        inference.add_outputs({f"y{i}": t for i, t in enumerate(results)})
        inference.compile("cpu")
        run = inference.execute(data).result()
        return [run.output(f"y{i}").copy() for i in range(len(results))]

    def check(self) -> None:
        for got, expected in zip(self.run(), self.expected(), strict=True):
            np.testing.assert_allclose(got, expected, **TOLERANCE)


@pytest.mark.parametrize("by_gate", [False, True])
@pytest.mark.parametrize("sources", SOURCES)
@pytest.mark.parametrize("options", OPTIONS)
def test_results(
    rng: np.random.Generator, options: str, sources: str, *, by_gate: bool
) -> None:
    Case(rng, OPTIONS[options], sources=SOURCES[sources], by_gate=by_gate).check()


@pytest.mark.parametrize("by_gate", [False, True])
@pytest.mark.parametrize("sources", SOURCES)
def test_peepholes(rng: np.random.Generator, sources: str, *, by_gate: bool) -> None:
    options = {"bidirectional": True, "layer_count": 2}
    case = Case(rng, options, sources=SOURCES[sources], by_gate=by_gate, peepholes=True)
    case.check()


def test_activations(rng: np.random.Generator) -> None:
    activations = {
        "gate_activations": [
            "hard_sigmoid",
            tg.layers.ActivationDescriptor("sigmoid"),
            "soft_sign",
            "sigmoid",
        ],
        "output_result_activation": tg.layers.ActivationDescriptor("tanh", 0.5, 2.0),
    }
    case = Case(rng, {"layer_count": 2}, activations=activations)
    case.reference.activations = [
        lambda x: np.clip(0.2 * x + 0.5, 0, 1),
        sigmoid,
        lambda x: x / (1 + np.abs(x)),
        sigmoid,
    ]
    case.reference.cell_activation = lambda x: 0.5 * np.tanh(2 * x)
    case.check()
    assert case.layer.gate_activations[0].a == pytest.approx(0.2)
    assert case.layer.output_result_activation.b == 2


def training_of(
    case: Case, tensors: dict[str, tg.Tensor]
) -> tuple[tg.TrainingGraph, list[tg.Tensor]]:
    """A graph whose results get gradients from the user."""
    graph = tg.Graph()
    graph.node(case.layer, list(tensors.values()))
    results = graph.result_tensors(case.layer)
    training = tg.TrainingGraph([graph])
    training.add_inputs(tensors)
    users = [training.allocate_user_gradient(t) for t in results]
    training.compile("cpu", compute_all_gradients=True)
    return training, users


@pytest.mark.parametrize(
    ("options", "sources", "peepholes"),
    [
        ("plain", "x", False),
        ("bidirectional layers", "states and lengths", True),
        ("last step of both", "states", False),
        ("time first", "state and lengths", True),
        ("without biases", "lengths", False),
    ],
)
def test_gradients(
    rng: np.random.Generator, options: str, sources: str, *, peepholes: bool
) -> None:
    case = Case(
        rng,
        OPTIONS[options],
        sources=SOURCES[sources],
        by_gate=options == "plain",
        peepholes=peepholes,
    )
    tensors, data = case.inputs()
    training, users = training_of(case, tensors)
    seeds = [random(rng, *t.shape) for t in users]
    names = {f"g{i}": t for i, t in enumerate(users)}
    training.bind_and_write_data(dict(zip(names, seeds, strict=True)), names)
    training.execute_forward(data).wait()
    training.execute_gradient().wait()

    def objective() -> float:
        return sum(
            float((r * s).sum()) for r, s in zip(case.expected(), seeds, strict=True)
        )

    def check(got: Array, array: Array) -> None:
        """Some elements of the gradient by `array`, which the reference reads."""
        flat = array.reshape(-1)
        for i in rng.choice(flat.size, min(flat.size, 12), replace=False):
            before = flat[i]
            values = []
            for step in (1e-3, -1e-3):
                flat[i] = before + step
                values.append((objective(), flat[i]))
            flat[i] = before
            (above, high), (below, low) = values
            want = (above - below) / (float(high) - float(low))
            assert got.reshape(-1)[i] == pytest.approx(want, rel=1e-3, abs=1e-4)

    for each, lists in (
        (case.layer.input_weights, "input"),
        (case.layer.hidden_weights, "hidden"),
        (case.layer.biases, "bias"),
        (case.layer.peephole_weights, "peephole"),
    ):
        if each is None:
            continue
        arrays = [getattr(w, lists) for w in case.reference.sets]
        per_set = len(each) // len(arrays)
        for k, array in enumerate(arrays):
            parts = each[k * per_set : (k + 1) * per_set]
            check(np.concatenate([training.gradient(p) for p in parts]), array)
    for name in ("x", "h0", "c0"):
        if name not in case.data:
            continue
        tensor = training.gradient_tensor(tensors[name])
        assert tensor is not None
        got = tensor.numpy()
        if name == "x" and not case.options.get("batch_first", True):
            got = got.swapaxes(0, 1)
        check(got, case.data[name])


def test_smaller_batches_run(rng: np.random.Generator) -> None:
    case = Case(
        rng, {"bidirectional": True, "layer_count": 2}, sources=(True, True, True)
    )
    full = case.run()
    graph = tg.Graph()
    layer = tg.layers.LSTM(
        IN,
        H,
        2,
        bidirectional=True,
        result_mode="output_and_states",
        **lists_of(case.reference.sets, by_gate=False),
    )
    tensors, data = case.inputs()
    graph.node(layer, list(tensors.values()))
    inference = tg.InferenceGraph([graph])
    inference.add_inputs(tensors)
    inference.add_outputs({"y": graph.result_tensors(layer)[0]})
    inference.compile("cpu")
    part = {
        k: np.ascontiguousarray(v[:, :, :2] if k in ("h0", "c0") else v[:2])
        for k, v in data.items()
    }
    got = inference.execute(part, batch_size=2).result().output("y")
    np.testing.assert_array_equal(got, full[0][:2])


def test_learns_to_remember(rng: np.random.Generator) -> None:
    """The sign of the first of 20 numbers."""
    x = rng.standard_normal((64, 20, 1), np.float32)
    y = (x[:, 0] > 0).astype(np.float32)
    graph = tg.Graph()
    source = tg.Tensor(x.shape, name="x")
    label = tg.Tensor(y.shape, name="y")
    h = graph.node(tg.layers.LSTM(1, 16, returns_sequences=False), source)
    h = graph.ops.reshape(h, shape=(64, 16))
    graph.node(tg.layers.FullyConnected(16, 1), h)
    training = tg.TrainingGraph(
        [graph],
        loss=tg.losses.SigmoidCrossEntropy("mean"),
        optimizer=tg.optimizers.Adam(1e-2),
    )
    training.add_inputs({"x": source}, loss_labels={"y": label})
    training.compile("cpu")
    losses = [training.execute({"x": x}, {"y": y}).result().loss for _ in range(200)]
    assert losses[0] > 0.6
    assert losses[-1] < 0.05
