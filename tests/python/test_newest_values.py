# SPDX-License-Identifier: MIT
"""Whoever reads a tensor gets its newest value, after the work enqueued so far.

A table of the ways in which values leave a tensor, one of the tensors that an
execution changes, and one of the graphs that read a tensor which another trains.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

if TYPE_CHECKING:
    from pathlib import Path

Read = Callable[[tg.Tensor], Any]

STEPS = 20


class Trained:
    """A network that is trained without waiting for its steps."""

    def __init__(self, optimizer: tg.Optimizer | None = None) -> None:
        self.x = tg.Tensor((4, 5), name="x")
        labels = tg.Tensor((4, 3), name="y")
        self.graph = tg.Graph()
        self.norm = tg.layers.BatchNormalization(5, name="norm")
        self.dense = tg.layers.FullyConnected(
            5, 3, weights=np.zeros((3, 5), np.float32), name="fc"
        )
        self.hidden = self.graph.node(self.norm, self.x)
        self.output = self.graph.node(self.dense, self.hidden)
        self.training = tg.TrainingGraph(
            [self.graph],
            tg.losses.MeanSquaredError(),
            optimizer or tg.optimizers.Adam(0.1),
        )
        self.training.add_inputs({"x": self.x}, {"y": labels})
        self.training.add_outputs({"out": self.output})
        self.training.compile("cpu")

    def step(self, target: float = 1) -> tg.Execution:
        x = np.arange(20, dtype=np.float32).reshape(4, 5) % 7
        y = np.full((4, 3), target, np.float32)
        return self.training.execute({"x": x}, {"y": y})

    def state(self, name: str, *, with_optimizer: bool = False) -> Any:
        return self.training.state_dict(with_optimizer=with_optimizer)[name]


def refilled(tensor: tg.Tensor) -> Any:
    other = tg.Tensor(tensor.shape)
    other.set_data(tensor)
    return other.numpy()


def bound(tensor: tg.Tensor) -> Any:
    other = tg.Tensor(tensor.shape)
    other.bind_and_write_data(tensor, "cpu")
    return other.numpy()


def given_to_a_call(tensor: tg.Tensor) -> Any:
    x = tg.Tensor(tensor.shape, name="x", batch_axis=None)
    graph = tg.Graph()
    y = graph.node(tg.layers.ReLU(), x)
    z = graph.node(tg.layers.ReLU(), graph.ops.binary(y, x, operation="subtract"))
    copy = graph.ops.binary(y, z, operation="subtract")  # x, with a node or two
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({"x": x})
    inference.add_outputs({"copy": copy})
    inference.compile("cpu")
    values = inference.execute({"x": tensor}).result().output("copy")
    return np.where(tensor.numpy() > 0, values, tensor.numpy())


def copied_from_device(tensor: tg.Tensor) -> Any:
    out = np.empty(tuple(tensor.shape), np.float32)
    tensor.copy_data_from_device_memory(out)
    return out


def synchronized(tensor: tg.Tensor) -> Any:
    tensor.synchronize_data()
    return tensor.data


def shaped(values: Any, tensor: tg.Tensor) -> Any:
    return np.asarray(values).reshape(tuple(tensor.shape))


def dequantized(tensor: tg.Tensor) -> Any:
    scale = float(np.abs(tensor.numpy()).max()) / 100
    return tensor.quantized("int8", scale, 0).dequantized(scale, 0).numpy()


WAYS_OUT: dict[str, Read] = {
    "numpy": lambda t: t.numpy(),
    "numpy of another type": lambda t: t.numpy(dtype="float64"),
    "data": lambda t: t.data,
    "np.asarray": np.asarray,
    "np.array": lambda t: np.array(t, copy=True),
    "np.from_dlpack": np.from_dlpack,
    "DLPack as a copy": lambda t: np.from_dlpack(t, copy=True),
    "ufunc": lambda t: np.add(t, 0),
    "np.save": lambda t: _saved(t),
    "list": lambda t: np.asarray([t, t])[0],
    "Tensor(data=)": lambda t: tg.Tensor(t.shape, data=t).numpy(),
    "set_data": refilled,
    "bind_and_write_data": bound,
    "a call's data": given_to_a_call,
    "copy_data_from_device_memory": copied_from_device,
    "synchronize_data": synchronized,
    "weights of another layer": lambda t: shaped(
        tg.layers.FullyConnected(
            t.shape[-1], t.shape[0], weights=np.asarray(t)
        ).weights.numpy()
        if len(t.shape) == 2
        else t.numpy(),
        t,
    ),
}


def _saved(tensor: tg.Tensor) -> Any:
    file = io.BytesIO()
    np.save(file, tensor)  # type: ignore[arg-type]
    file.seek(0)
    return np.load(file)


TENSORS: dict[str, Callable[[Trained], tuple[tg.Tensor, Any]]] = {
    "weights": lambda n: (n.dense.weights, n.state("fc.weights")),
    "biases": lambda n: (n.dense.biases, n.state("fc.biases")),
    "scale of a normalization": lambda n: (n.norm.gamma, n.state("norm.gamma")),
    "running mean": lambda n: (n.norm.mean, n.state("norm.mean")),
    "running variance": lambda n: (n.norm.variance, n.state("norm.variance")),
}


@pytest.mark.parametrize("tensor", TENSORS)
@pytest.mark.parametrize("way", WAYS_OUT)
def test_every_way_out_gives_the_newest_value(way: str, tensor: str) -> None:
    network = Trained()
    before = np.array(TENSORS[tensor](network)[0].numpy())
    for _ in range(STEPS):
        network.step()  # read while they are enqueued
    read = WAYS_OUT[way](TENSORS[tensor](network)[0])
    expected = TENSORS[tensor](network)[1]
    assert not np.array_equal(expected, before)
    np.testing.assert_array_equal(np.asarray(read), expected)
    # It was of one moment: later steps change nothing in it, nor the other way.
    kept = np.array(read)
    network.step(target=3).wait()
    np.testing.assert_array_equal(np.asarray(read), kept)
    again = np.asarray(WAYS_OUT[way](TENSORS[tensor](network)[0]))
    np.testing.assert_array_equal(again, TENSORS[tensor](network)[1])
    assert not np.array_equal(again, kept)


@pytest.mark.parametrize("way", WAYS_OUT)
def test_a_value_that_was_set_is_the_newest(way: str) -> None:
    network = Trained()
    network.step()
    values = np.arange(15, dtype=np.float32).reshape(3, 5) + 1
    network.dense.weights.set_data(values)
    read = WAYS_OUT[way](network.dense.weights)
    np.testing.assert_array_equal(np.asarray(read), values)


@pytest.mark.parametrize(
    "way", [w for w in WAYS_OUT if w != "weights of another layer"]
)
def test_outputs(way: str) -> None:
    network = Trained()
    for target in (1, 5):
        results = [network.step(target) for _ in range(STEPS)]
        read = WAYS_OUT[way](network.output)
        expected = results[-1].result().output("out")
        np.testing.assert_array_equal(np.asarray(read), expected)


@pytest.mark.parametrize("name", ["momentum", "velocity"])
def test_buffers_of_optimizers(name: str) -> None:
    network = Trained()
    for _ in range(3):
        network.step()
        read = network.dense.weights.optimizer_data[name]
        stored = network.state(f"fc.weights.{name}", with_optimizer=True)
        np.testing.assert_array_equal(read, stored)
        assert np.any(read != 0)
        assert not read.flags.writeable


def test_numbers_that_are_not_finite_are_noticed() -> None:
    network = Trained(tg.optimizers.SGD(1e30))
    assert network.dense.weights.has_valid_numerics
    for _ in range(4):
        network.step(target=1e30)
    assert not network.dense.weights.has_valid_numerics


def test_lora_merges_what_was_trained() -> None:
    x, y = tg.Tensor((4, 5), name="x"), tg.Tensor((4, 3), name="y")
    graph = tg.Graph()
    base = tg.layers.FullyConnected(5, 3, name="fc")
    lora = tg.layers.LoRA(base, rank=2, alpha=4)
    graph.node(lora, x)
    loss, optimizer = tg.losses.MeanSquaredError(), tg.optimizers.SGD(0.1)
    training = tg.TrainingGraph([graph], loss, optimizer)
    training.add_inputs({"x": x}, {"y": y})
    training.compile("cpu")
    for _ in range(STEPS):
        training.execute({"x": np.ones((4, 5))}, {"y": np.ones((4, 3))})
    merged = lora.merged().weights.numpy()
    update = 4 / 2 * (lora.up.numpy().astype("d") @ lora.down.numpy())
    assert np.abs(update).max() > 1e-3
    expected = base.weights.numpy() + update
    np.testing.assert_allclose(merged, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("is_compiled_before", [False, True])
@pytest.mark.parametrize("declares", [False, True])
def test_other_graphs_read_what_one_trains(
    is_compiled_before: bool, declares: bool
) -> None:
    """As a constant, or as an input that is bound by its own value."""
    w = tg.Tensor((3,), data=[1, 2, 3], name="w", batch_axis=None)
    x, y = tg.Tensor((4, 3), name="x"), tg.Tensor((4, 3), name="y")
    one, other = tg.Graph(), tg.Graph()
    product = one.ops.binary(x, w, operation="multiply")
    one.node(tg.losses.MeanSquaredError(), product, loss_labels=[y])
    training = tg.TrainingGraph([one], optimizer=tg.optimizers.SGD(0.5))
    training.set_training_tensor_parameters([tg.mlcompute.TensorParameter(w)])
    training.add_inputs({"x": x}, {"y": y})

    z = tg.Tensor((1, 3), name="z")
    scaled = other.ops.binary(z, w, operation="multiply")
    inference = tg.InferenceGraph([other])
    inference.add_inputs({"z": z, "w": w} if declares else {"z": z})
    inference.add_outputs({"scaled": scaled})
    order = [inference, training] if is_compiled_before else [training, inference]
    for graph in order:
        graph.compile("cpu")

    ones = np.ones((1, 3), np.float32)
    for target in (5, 7):
        for _ in range(3):
            training.execute({"x": np.ones((4, 3))}, {"y": np.full((4, 3), target)})
        result = inference.execute({"z": ones}).result().output("scaled")
        np.testing.assert_array_equal(result[0], w.numpy())
    w.set_data([7, 8, 9])
    result = inference.execute({"z": ones}).result().output("scaled")
    np.testing.assert_array_equal(result[0], [7, 8, 9])
    training.execute({"x": np.ones((4, 3))}, {"y": np.zeros((4, 3))})
    result = inference.execute({"z": ones}).result().output("scaled")
    np.testing.assert_array_equal(result[0], w.numpy())
    assert np.all(result[0] < [7, 8, 9])


def test_artefacts_have_the_newest_values(tmp_path: Path) -> None:
    network = Trained()
    for _ in range(3):
        network.step()
    for with_state in (True, False):
        path = tmp_path / f"{with_state}.tg.safetensors"
        network.training.export_graph(path, with_state=with_state)
        loaded = tg.TrainingGraph.load(path, "cpu")
        # They were given, not drawn, and are part of the graph.
        np.testing.assert_array_equal(
            loaded.state_dict()["fc.weights"], network.state("fc.weights")
        )


def test_copies_are_marked_and_views_refused() -> None:
    network = Trained()
    weights = network.dense.weights
    assert "dltensor_versioned" in repr(weights.__dlpack__(max_version=(1, 0)))
    assert "versioned" not in repr(weights.__dlpack__(max_version=(0, 8)))
    weights.__dlpack__(max_version=(1, 1), copy=True, dl_device=(1, 0), stream=None)
    for wrong in ({"copy": False}, {"dl_device": (2, 0)}, {"stream": 1}):
        with pytest.raises(BufferError):
            weights.__dlpack__(**wrong)
    with pytest.raises(BufferError):
        np.from_dlpack(weights, copy=False)
    copy = np.from_dlpack(weights)
    assert copy.flags.writeable
    copy[:] = 5
    assert not np.any(weights.numpy() == 5)
    assert weights.data is not None
    assert not weights.data.flags.writeable


def test_nothing_is_written_into_a_copy() -> None:
    network = Trained()
    x = np.zeros((4, 5), np.float32)
    y = np.zeros((4, 3), np.float32)
    out = tg.Tensor((4, 3), fill=0)
    with pytest.raises(tg.InvalidArgument, match="copies"):
        network.training.execute({"x": x}, {"y": y}, outputs_data={"out": out})
    with pytest.raises(tg.InvalidArgument, match="copies"):
        network.dense.weights.copy_data_from_device_memory(out)


def test_tensors_without_values() -> None:
    tensor = tg.Tensor((2,))
    assert tensor.data is None
    assert not tensor.has_data
    assert tensor.has_valid_numerics
    with pytest.raises(tg.StateError):
        np.from_dlpack(tensor)
    network = Trained()
    assert network.output.data is None
    assert not network.output.has_data
    with pytest.raises(tg.StateError, match="has not run"):
        network.output.numpy()


def test_a_second_compile_goes_on_with_the_newest_buffers() -> None:
    """Where the host has copies of them, however old."""
    network, straight = Trained(), Trained()
    for _ in range(4):
        straight.step()
    network.step()
    weights = network.dense.weights
    for parameter in network.training.parameters:
        parameter.synchronize_optimizer_data()
    network.step()
    network.step()
    network.training.compile("cpu")
    network.step()
    np.testing.assert_array_equal(weights.numpy(), straight.dense.weights.numpy())
