# SPDX-License-Identifier: MIT
"""Every call that takes data checks its shape and type, and changes nothing
when they are wrong: a transposed array has as many bytes as the right one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

if TYPE_CHECKING:
    from pathlib import Path


class Network:
    """(6, 5) to (6, 5) to 3, with all that data can be given to."""

    def __init__(self) -> None:
        self.x = tg.Tensor((6, 5), name="x")
        self.y = tg.Tensor((6, 3), name="y")
        self.weight = tg.Tensor((6, 1), name="weight")
        self.constant = tg.Tensor((6, 5), name="constant", fill=1, batch_axis=None)
        self.graph = tg.Graph()
        self.dense = tg.layers.FullyConnected(5, 3, name="fc")
        shifted = self.graph.ops.binary(self.x, self.constant, operation="add")
        self.output = self.graph.node(self.dense, shifted)
        self.training = tg.TrainingGraph(
            [self.graph], tg.losses.MeanSquaredError(), tg.optimizers.Adam(0.1)
        )
        self.training.add_inputs({"x": self.x}, {"y": self.y})
        self.training.add_outputs({"out": self.output})
        self.user = self.training.allocate_user_gradient(self.output)
        self.training.compile("cpu")
        self.user.set_data(np.zeros((6, 3)))
        self.execute(x=np.ones((6, 5))).wait()

    def execute(self, x: Any = None, y: Any = None, **options: Any) -> tg.Execution:
        x = np.ones((6, 5), np.float32) if x is None else x
        y = np.ones((6, 3), np.float32) if y is None else y
        return self.training.execute({"x": x}, {"y": y}, **options)

    def phases(self) -> None:
        x, y = np.ones((6, 5), np.float32), np.ones((6, 3), np.float32)
        self.training.execute_forward({"x": x}, {"y": y})
        self.training.execute_gradient()

    def everything(self) -> list[Any]:
        state = self.training.state_dict(with_optimizer=True)
        return [
            *(state[name] for name in sorted(state)),
            self.constant.numpy(),
            self.user.numpy(),
        ]


def set_gradient(n: Network, data: Any) -> None:
    n.phases()
    n.training.set_gradient_data(n.dense.weights, data)


def load(n: Network, data: Any) -> None:
    state = n.training.state_dict(with_optimizer=True)
    n.training.load_state_dict({**state, "fc.weights": data})


def load_buffer(n: Network, data: Any) -> None:
    state = n.training.state_dict(with_optimizer=True)
    n.training.load_state_dict({**state, "fc.weights.momentum": data})


Give = Callable[[Network, Any], Any]

# What is given, and the shape that it must have.
ENTRANCES: dict[str, tuple[tuple[int, int], Give]] = {
    "input": ((6, 5), lambda n, d: n.execute(x=d)),
    "label": ((6, 3), lambda n, d: n.execute(y=d)),
    "bound input": ((6, 5), lambda n, d: n.training.bind_and_write_data({"x": d})),
    "bound label": ((6, 3), lambda n, d: n.training.bind_and_write_data({"y": d})),
    "user gradient, bound": (
        (6, 3),
        lambda n, d: n.training.bind_and_write_data({"g": d}, {"g": n.user}),
    ),
    "user gradient, set": ((6, 3), lambda n, d: n.user.set_data(d)),
    "output": ((6, 3), lambda n, d: n.execute(outputs_data={"out": d})),
    "set_data": ((3, 5), lambda n, d: n.dense.weights.set_data(d)),
    "set_data of a constant": ((6, 5), lambda n, d: n.constant.set_data(d)),
    "Tensor(data=)": ((3, 5), lambda _, d: tg.Tensor((3, 5), data=d)),
    "tensor's bind_and_write_data": (
        (3, 5),
        lambda n, d: n.dense.weights.bind_and_write_data(d, "cpu"),
    ),
    "bind_optimizer_data": (
        (3, 5),
        lambda n, d: n.dense.weights.bind_optimizer_data([d, d]),
    ),
    "bind_optimizer_data, the second": (
        (3, 5),
        lambda n, d: n.dense.weights.bind_optimizer_data(
            [np.zeros((3, 5), np.float32), d]
        ),
    ),
    "TensorParameter": (
        (3, 5),
        lambda n, d: tg.mlcompute.TensorParameter(
            n.dense.weights, optimizer_data=[d, d]
        ),
    ),
    "copy_data_from_device_memory": (
        (3, 5),
        lambda n, d: n.dense.weights.copy_data_from_device_memory(d),
    ),
    "set_gradient_data": ((3, 5), set_gradient),
    "load_state_dict": ((3, 5), load),
    "load_state_dict of a buffer": ((3, 5), load_buffer),
    "weights": (
        (3, 5),
        lambda _, d: tg.layers.FullyConnected(5, 3, weights=d),
    ),
}


def transposed(shape: tuple[int, int]) -> Any:
    size = shape[0] * shape[1]
    return np.arange(size, dtype=np.float32).reshape(shape[1], shape[0])


WRONG: dict[str, Callable[[tuple[int, int]], Any]] = {
    "transposed": transposed,
    "flat": lambda shape: transposed(shape).reshape(-1),
    "with one more axis": lambda shape: transposed(shape).reshape(*shape, 1),
    "a column less": lambda shape: np.zeros((shape[0], shape[1] - 1), np.float32),
    "a row more": lambda shape: np.zeros((shape[0] + 1, shape[1]), np.float32),
    "transposed TensorData": lambda shape: tg.mlcompute.TensorData(transposed(shape)),
    "short bytes": lambda shape: tg.mlcompute.TensorData(
        bytearray(4 * shape[0] * shape[1] - 4)
    ),
}
# They take arrays alone.
TAKE_NO_BYTES = {
    "Tensor(data=)",
    "set_data",
    "set_data of a constant",
    "user gradient, set",
    "set_gradient_data",
    "copy_data_from_device_memory",
    "weights",
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("entrance", ENTRANCES)
def test_wrong_shapes(entrance: str, wrong: str) -> None:
    shape, give = ENTRANCES[entrance]
    data = WRONG[wrong](shape)
    if isinstance(data, tg.mlcompute.TensorData) and entrance in TAKE_NO_BYTES:
        pytest.skip("takes arrays")
    if entrance == "weights" and wrong in ("flat", "with one more axis"):
        pytest.skip("programs for ML Compute give these forms, and axes of size 1")
    network = Network()
    before = network.everything()
    # Bytes of unknown type and of another size: a mapping says the type.
    is_unknown = wrong == "short bytes" and entrance.startswith("load_state_dict")
    with pytest.raises(tg.DTypeError if is_unknown else tg.ShapeError):
        give(network, data)
    for now, then in zip(network.everything(), before, strict=True):
        np.testing.assert_array_equal(now, then)
    network.execute().wait()


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_the_right_shape(entrance: str) -> None:
    shape, give = ENTRANCES[entrance]
    give(Network(), np.zeros(shape, np.float32))


@pytest.mark.parametrize("entrance", sorted(set(ENTRANCES) - TAKE_NO_BYTES))
def test_wrong_types_of_bytes(entrance: str) -> None:
    shape, give = ENTRANCES[entrance]
    network = Network()
    before = network.everything()
    with pytest.raises(tg.DTypeError):
        give(network, tg.mlcompute.TensorData(np.zeros((shape[0], shape[1]), np.int32)))
    for now, then in zip(network.everything(), before, strict=True):
        np.testing.assert_array_equal(now, then)


def test_files_of_another_shape(tmp_path: Path) -> None:
    network = Network()
    other = Network()
    path = tmp_path / "state.safetensors"
    network.training.save(path)
    raw = path.read_bytes()
    assert raw.count(b"[3,5]") >= 1
    path.write_bytes(raw.replace(b"[3,5]", b"[5,3]"))
    before = other.everything()
    with pytest.raises(tg.ShapeError):
        other.training.restore(path)
    for now, then in zip(other.everything(), before, strict=True):
        np.testing.assert_array_equal(now, then)
