# SPDX-License-Identifier: MIT
"""Tensors and parameters of 16 bits in graphs, as ML Compute allowed them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

from .support import floats, value_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Array = np.ndarray[Any, Any]

ml_dtypes = pytest.importorskip("ml_dtypes")

DTYPES: dict[str, Any] = {
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
}
# Half a unit in the last place of 1.
UNIT = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
TYPES = pytest.mark.parametrize("name", DTYPES)


def bits(x: Array) -> Array:
    return np.ascontiguousarray(x).view(np.uint16)


def weights(name: str, *shape: int, seed: int = 1) -> tg.Tensor:
    values = np.random.default_rng(seed).normal(scale=0.5, size=shape)
    return tg.Tensor(shape, name, data=values)


class Net:
    """x (16, 6) -> dense -> ReLU -> dense (16, 3) in 16 bits."""

    def __init__(self, name: str, optimizer: tg.optimizers.Optimizer) -> None:
        self.x = tg.Tensor((16, 6), name, name="x")
        self.label = tg.Tensor((16, 3), name="label")
        self.first = tg.layers.FullyConnected(
            6, 8, weights=weights(name, 8, 6), name="first"
        )
        self.second = tg.layers.FullyConnected(
            8, 3, weights=weights(name, 3, 8, seed=2), name="second"
        )
        graph = tg.Graph()
        h = graph.node(tg.layers.ReLU(), graph.node(self.first, self.x))
        self.y = graph.node(self.second, h)
        self.training = tg.TrainingGraph(
            [graph], tg.losses.MeanSquaredError(), optimizer
        )
        self.training.add_inputs({"x": self.x}, {"label": self.label})
        self.training.add_outputs({"y": self.y})
        self.training.compile("cpu")

    @staticmethod
    def data(step: int) -> tuple[dict[str, Array], dict[str, Array]]:
        rng = np.random.default_rng(step)
        x = rng.normal(size=(16, 6)).astype(np.float32)
        return {"x": x}, {"label": np.tanh(x[:, :3] - x[:, 3:])}


@TYPES
def test_training_in_16_bits(name: str) -> None:
    """The loss falls by as much as 16 bits let it; types are what they should be."""
    net = Net(name, tg.optimizers.SGD(0.5, momentum_scale=0.5))
    losses = []
    for step in range(300):
        x, label = net.data(step % 10)
        losses.append(net.training.execute(x, label).result().loss)
    assert np.mean(losses[-10:]) < 0.1 * np.mean(losses[:10])
    for layer in (net.first, net.second):
        assert layer.biases is not None
        for parameter in (layer.weights, layer.biases):
            assert parameter.data_type is tg.DataType[name]
            assert parameter.numpy().dtype == DTYPES[name]
            parameter.synchronize_optimizer_data()
            (momentum,) = parameter.optimizer_data.values()
            assert momentum.dtype == np.float32


@TYPES
def test_updates_round_once(name: str) -> None:
    net = Net(name, tg.optimizers.SGD(0.5))
    t = net.training
    for step in range(3):
        t.execute_forward(*net.data(step))
        t.execute_gradient().wait()
        expected = []
        for parameter in t.parameters:
            gradient = t.gradient(parameter)
            assert gradient.dtype == np.float32
            p = parameter.numpy(dtype=np.float32)
            expected.append((p - np.float32(0.5) * gradient).astype(DTYPES[name]))
        t.execute_optimizer_update().wait()
        for parameter, value in zip(t.parameters, expected, strict=True):
            np.testing.assert_array_equal(bits(parameter.numpy()), bits(value))


@TYPES
def test_outputs_inputs_and_callbacks(name: str) -> None:
    net = Net(name, tg.optimizers.SGD(0.1))
    x, label = net.data(0)
    run = net.training.execute_forward(x, label)
    result = run.result()
    y = result.output("y")
    assert y.dtype == result.outputs["y"].dtype == DTYPES[name]
    assert not y.flags.writeable
    wide = result.output("y", dtype="float32")
    np.testing.assert_array_equal(wide, y.astype(np.float32))
    # Data is rounded as it is when it is given in 16 bits.
    same = {"x": x["x"].astype(DTYPES[name])}
    again = net.training.execute_forward(same, label).result().output("y")
    np.testing.assert_array_equal(bits(again), bits(y))
    into = np.empty((16, 3), DTYPES[name])
    seen: list[Array] = []
    net.training.execute_forward(
        same,
        label,
        outputs_data={"y": into},
        completion_handler=lambda run: seen.append(run.result().output("y")),
        synchronous=True,
    )
    np.testing.assert_array_equal(bits(into), bits(y))
    np.testing.assert_array_equal(bits(seen[0]), bits(y))
    with pytest.raises(tg.DTypeError):
        net.training.execute_forward(
            x, label, outputs_data={"y": np.empty((16, 3), np.float32)}
        )
    with pytest.raises(tg.InvalidArgument, match="round to nearest"):
        net.training.execute_forward({"x": np.full((16, 6), 1e39)}, label)


@TYPES
def test_bytes_come_back_by_their_type(name: str) -> None:
    net = Net(name, tg.optimizers.SGD(0.1))
    out = np.empty((8, 6), DTYPES[name])
    net.first.weights.copy_data_from_device_memory(out)
    np.testing.assert_array_equal(bits(out), bits(net.first.weights.numpy()))
    with pytest.raises(tg.DTypeError, match=r"numpy\(dtype\)"):
        net.first.weights.copy_data_from_device_memory(np.empty((8, 6), np.float32))


@TYPES
def test_outputs_without_ml_dtypes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    net = Net(name, tg.optimizers.SGD(0.1))
    result = net.training.execute_forward(*net.data(0)).result()
    expected = result.output("y").astype(np.float32)
    monkeypatch.setitem(__import__("sys").modules, "ml_dtypes", None)
    got = result.output("y", dtype=np.float32)
    np.testing.assert_array_equal(got, expected)
    assert net.training.execute(*net.data(0)).result().loss > 0
    if name == "float16":
        return
    for use in (lambda: result.outputs, lambda: net.training.state_dict()):
        with pytest.raises(tg.DTypeError, match="pip install ml_dtypes"):
            use()


@TYPES
def test_fit_and_batches(name: str) -> None:
    net = Net(name, tg.optimizers.Adam(0.01))
    x, label = net.data(0)
    x = {"x": x["x"].astype(DTYPES[name])}
    batches = [{**x, **label}, {"x": x["x"][::-1], "label": label["label"][::-1]}]
    history = tg.fit(net.training, batches, epochs=5, progress=False)
    assert history.metrics["loss"][-1] < history.metrics["loss"][0]


@TYPES
def test_states_convert_and_files_do_not(name: str, tmp_path: Path) -> None:
    net = Net(name, tg.optimizers.Adam(0.01))
    net.training.execute(*net.data(0)).wait()
    state = net.training.state_dict(with_optimizer=True)
    assert state["first.weights"].dtype == DTYPES[name]
    assert state["first.weights.velocity"].dtype == np.float32
    wide = {key: value.astype(np.float64) for key, value in state.items()}
    other = Net(name, tg.optimizers.Adam(0.01))
    other.training.load_state_dict(wide)
    got = other.training.state_dict(with_optimizer=True)
    for key, value in state.items():
        np.testing.assert_array_equal(got[key], value)
    with pytest.raises(tg.InvalidArgument, match="round to nearest"):
        other.training.load_state_dict({**wide, "first.biases": np.full(8, 1e39)})

    single = Net("float32", tg.optimizers.Adam(0.01))
    path = tmp_path / "single.safetensors"
    single.training.save(path)
    with pytest.raises(tg.DTypeError, match="load_state_dict"):
        net.training.restore(path)
    report = net.training.restore(path, strict=False)
    assert len(report.mismatched) == 4
    net.training.load_state_dict(single.training.state_dict())
    for a, b in zip(net.training.parameters, single.training.parameters, strict=True):
        np.testing.assert_array_equal(
            bits(a.numpy()), bits(b.numpy().astype(DTYPES[name]))
        )
    single.training.load_state_dict(state)
    np.testing.assert_array_equal(
        single.first.weights.numpy(), state["first.weights"].astype(np.float32)
    )


def test_other_libraries_read_the_files(tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors")
    net = Net("float16", tg.optimizers.SGD(0.1))
    path = tmp_path / "net.safetensors"
    net.training.save(path)
    with safetensors.safe_open(path, framework="numpy") as file:
        got = file.get_tensor("first.weights")
    assert got.dtype == np.float16
    np.testing.assert_array_equal(got, net.first.weights.numpy())


LAYERS: dict[str, Callable[[str], tuple[tg.layers.Layer, tuple[int, ...]]]] = {
    "Convolution": lambda name: (
        tg.layers.Convolution(2, 3, kernel_size=3, weights=weights(name, 3, 2, 3, 3)),
        (2, 2, 5, 5),
    ),
    "FullyConnected": lambda name: (
        tg.layers.FullyConnected(4, 3, weights=weights(name, 3, 4)),
        (2, 4),
    ),
    "PReLU": lambda name: (tg.layers.PReLU(weights=weights(name, 3)), (2, 3)),
    "GRU": lambda name: (
        tg.layers.GRU(3, 4, input_weights=[weights(name, 12, 3)]),
        (2, 5, 3),
    ),
    "LSTM": lambda name: (
        tg.layers.LSTM(3, 4, input_weights=[weights(name, 16, 3)]),
        (2, 5, 3),
    ),
    "MultiheadAttention": lambda name: (
        tg.layers.MultiheadAttention(
            4, 2, weights=[weights(name, 4, 4, seed=i) for i in range(4)]
        ),
        (2, 3, 4),
    ),
}


@TYPES
@pytest.mark.parametrize("make", LAYERS.values(), ids=LAYERS)
def test_layers_take_weights_of_16_bits(
    name: str, make: Callable[[str], tuple[tg.layers.Layer, tuple[int, ...]]]
) -> None:
    """What is created beside them has their type; the value is that of float32."""
    layer, shape = make(name)
    for parameter in layer.parameters:
        assert parameter.tensor.data_type is tg.DataType[name]
    x = floats(*shape).astype(DTYPES[name])
    sources = [x] * (3 if isinstance(layer, tg.layers.MultiheadAttention) else 1)
    got = value_of(layer, *sources)
    assert got.dtype == DTYPES[name]
    wide, _ = make("float32")
    for to, of in zip(wide.parameters, layer.parameters, strict=True):
        to.tensor.set_data(of.tensor.numpy(dtype=np.float32))
    expected = value_of(wide, *(s.astype(np.float32) for s in sources))
    # Intermediate values of a layer are rounded as well.
    error = np.abs(got.astype(np.float64) - expected)
    assert error.max() <= 16 * UNIT[name] * max(1.0, float(np.abs(expected).max()))
    with pytest.raises(tg.DTypeError):
        value_of(make(name)[0], *(s.astype(np.float32) for s in sources))


@TYPES
def test_embeddings_of_16_bits(name: str) -> None:
    table = weights(name, 7, 3)
    tokens = np.array([[0, 6], [3, 3]], np.int32)
    got = value_of(tg.layers.Embedding(7, 3, weights=table), tokens)
    assert got.dtype == DTYPES[name]
    np.testing.assert_array_equal(bits(got), bits(table.numpy()[tokens]))


def test_types_of_one_layer_do_not_mix() -> None:
    with pytest.raises(tg.DTypeError, match="of one type"):
        tg.layers.FullyConnected(
            4, 3, weights=weights("float16", 3, 4), biases=weights("bfloat16", 3)
        )
    with pytest.raises(tg.DTypeError, match="expected float32"):
        tg.layers.BatchNormalization(3, gamma=weights("float16", 3))
    with pytest.raises(tg.DTypeError):
        tg.layers.FullyConnected(4, 3, weights=tg.Tensor((3, 4), "int32", fill=1))
    given = np.zeros((3, 4), np.float16)
    layer = tg.layers.FullyConnected(4, 3, weights=given)
    assert layer.weights.data_type is tg.DataType.float32


@TYPES
def test_lora_follows_its_base(name: str) -> None:
    base = tg.layers.FullyConnected(4, 3, weights=weights(name, 3, 4))
    lora = tg.layers.LoRA(base, rank=2, alpha=4)
    down, up = (p.tensor for p in lora.parameters[:2])
    assert down.data_type is up.data_type is tg.DataType[name]
    up.set_data(np.full((3, 2), 0.5))
    merged = lora.merged().weights.numpy()
    exact = base.weights.numpy(dtype=np.float64)
    exact += 2 * up.numpy(dtype=np.float64) @ down.numpy(dtype=np.float64)
    np.testing.assert_array_equal(bits(merged), bits(exact.astype(DTYPES[name])))
