# SPDX-License-Identifier: MIT
"""ML Compute's platform, devices, descriptors, tensors and parameters."""

from __future__ import annotations

import copy
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

from .support import CLOSE, Regression, value_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import RunScript

ONE_TO_SIX = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
IMAGE = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5)


def test_the_seed_repeats_a_run() -> None:
    tg.mlcompute.Platform.set_rng_seed(42)
    assert tg.mlcompute.Platform.rng_seed() == 42
    first = tg.Tensor((4,), initializer="uniform").numpy()
    tg.mlcompute.Platform.set_rng_seed(42)
    np.testing.assert_array_equal(tg.Tensor((4,), initializer="uniform").numpy(), first)
    tg.mlcompute.Platform.set_rng_seed(43)
    other = tg.Tensor((4,), initializer="uniform").numpy()
    assert not np.array_equal(other, first)


def test_there_is_no_seed_before_one_was_set(run_script: RunScript) -> None:
    run = run_script("print(tg.mlcompute.Platform.rng_seed())", is_compiled=False)
    assert run.stdout == "None\n", run.stderr


@pytest.mark.parametrize("kind", ["gpu", "ane"])
def test_devices_that_may_be_missing(kind: str) -> None:
    make: Callable[[], tg.Device] = getattr(tg.Device, kind)
    reason = tg.Device.reason_unavailable(kind)
    if reason:
        with pytest.raises(tg.DeviceError) as error:
            make()
        assert reason in str(error.value)
        return
    assert make().type is tg.mlcompute.DeviceType[kind]
    assert make().actual_device_type is tg.mlcompute.DeviceType[kind]
    assert make().gpu_devices


def test_tensors_and_layers_are_not_copied() -> None:
    with pytest.raises(tg.UnsupportedError, match="data=x"):
        copy.copy(tg.Tensor((2,), fill=1))
    with pytest.raises(TypeError):
        copy.copy(tg.layers.ZeroPadding(1))
    tensor = tg.Tensor((2,), fill=1)
    other = tg.Tensor(tensor.descriptor, data=tensor.numpy())
    assert other != tensor
    np.testing.assert_array_equal(other.numpy(), tensor.numpy())


def test_device_types_name_devices() -> None:
    assert tg.Device(tg.mlcompute.DeviceType.cpu) == tg.Device.cpu()
    assert tg.Device("any").actual_device_type is not tg.mlcompute.DeviceType.any
    assert copy.copy(tg.Device.cpu()) == tg.Device.cpu()


def test_descriptors_have_a_data_type() -> None:
    assert tg.TensorDescriptor((2, 3)).data_type is tg.DataType.float32
    described = [
        tg.TensorDescriptor((2, 3), "int64"),
        tg.TensorDescriptor.image(5, 4, 3, 2, "int64"),
        tg.TensorDescriptor.convolution_weights(2, 3, 5, 4, "int64"),
        tg.TensorDescriptor.convolution_weights(2, 3, data_type="int64"),
        tg.TensorDescriptor.convolution_biases(3, "int64"),
    ]
    assert [d.data_type for d in described] == [tg.DataType.int64] * 5
    assert [d.shape for d in described] == [
        (2, 3),
        (2, 3, 4, 5),
        (1, 6, 4, 5),
        (1, 6, 1, 1),
        (1, 3, 1, 1),
    ]


HELD_TYPES: dict[str, Any] = {
    "float32": np.float32,
    "float16": np.float16,
    "boolean": np.bool_,
    "int64": np.int64,
    "int32": np.int32,
    "int8": np.int8,
    "uint8": np.uint8,
}


@pytest.mark.parametrize("name", HELD_TYPES)
def test_tensors_hold_every_data_type(name: str) -> None:
    values = np.array([[0, 1], [1, 1]], HELD_TYPES[name])
    tensor = tg.Tensor((2, 2), name, data=values)
    assert tensor.data_type is tg.DataType[name]
    assert tensor.descriptor.size_bytes == values.nbytes
    assert tensor.numpy().dtype == values.dtype
    np.testing.assert_array_equal(tensor.numpy(), values)


@pytest.mark.parametrize("name", ["int8", "uint8"])
def test_layers_refuse_what_they_cannot_compute_in(name: str) -> None:
    assert not tg.layers.ReLU.supports_data_type(name, "cpu")
    with pytest.raises((tg.DTypeError, tg.UnsupportedError)):
        value_of(tg.layers.ReLU(), np.ones((2, 2), HELD_TYPES[name]))


# What each factory takes, and what the tensor then holds.
FACTORIES: dict[str, tuple[Callable[[], tg.Tensor], Any]] = {
    "descriptor": (lambda: tg.Tensor(tg.TensorDescriptor((2, 3))), None),
    "descriptor, fill": (
        lambda: tg.Tensor(tg.TensorDescriptor((2, 3), "int32"), fill=7),
        np.full((2, 3), 7, np.int32),
    ),
    "descriptor, data": (
        lambda: tg.Tensor(tg.TensorDescriptor((2, 3)), data=ONE_TO_SIX),
        ONE_TO_SIX,
    ),
    "shape": (lambda: tg.Tensor((2, 3)), None),
    "shape, type": (lambda: tg.Tensor((2, 3), "int32"), None),
    "shape, data, type": (
        lambda: tg.Tensor((2, 3), "int32", data=ONE_TO_SIX.astype(np.int32)),
        ONE_TO_SIX.astype(np.int32),
    ),
    "shape, fill, type": (
        lambda: tg.Tensor((2, 3), "int32", fill=7),
        np.full((2, 3), 7, np.int32),
    ),
    "image": (lambda: tg.Tensor.image(5, 4, 3, 2), None),
    "image, fill, type": (
        lambda: tg.Tensor.image(5, 4, 3, 2, "int32", fill=7),
        np.full((2, 3, 4, 5), 7, np.int32),
    ),
    "image, data": (lambda: tg.Tensor.image(5, 4, 3, 2, data=IMAGE), IMAGE),
    "image, data, type": (
        lambda: tg.Tensor.image(5, 4, 3, 2, "int32", data=IMAGE.astype(np.int32)),
        IMAGE.astype(np.int32),
    ),
}


@pytest.mark.parametrize("name", FACTORIES)
def test_factories_of_tensors(name: str) -> None:
    make, expected = FACTORIES[name]
    tensor = make()
    assert tensor.shape == ((2, 3, 4, 5) if "image" in name else (2, 3))
    if expected is None:
        assert tensor.data is None
        wanted = "int32" if "type" in name else "float32"
        assert tensor.data_type is tg.DataType[wanted]
    else:
        assert tensor.numpy().dtype == expected.dtype
        np.testing.assert_array_equal(tensor.numpy(), expected)


@pytest.mark.parametrize(
    "make",
    [
        lambda d, kind: tg.Tensor(d, initializer=kind),
        lambda d, kind: tg.Tensor(d.shape, initializer=kind),
        lambda d, kind: tg.Tensor(d.shape, "float32", initializer=kind),
        lambda d, kind: tg.Tensor.image(
            *d.shape[::-1][:2], d.shape[1], d.shape[0], initializer=kind
        ),
    ],
    ids=["descriptor", "shape", "shape and type", "image"],
)
def test_random_initializers(
    make: Callable[[tg.TensorDescriptor, str], tg.Tensor],
) -> None:
    descriptor = tg.TensorDescriptor((40, 30, 4, 5))
    fan_in, fan_out = 30 * 4 * 5, 40 * 4 * 5
    uniform, glorot, xavier = (
        make(descriptor, kind).numpy()
        for kind in ("uniform", "glorot_uniform", "xavier")
    )
    # 24,000 samples: the mean of a uniform variable is 0.5 +- 0.002.
    assert uniform.shape == descriptor.shape
    assert 0 <= uniform.min() < uniform.max() < 1
    assert uniform.mean() == pytest.approx(0.5, abs=0.01)
    bound = np.sqrt(6 / (fan_in + fan_out))
    assert np.abs(glorot).max() == pytest.approx(bound, rel=0.01)
    assert xavier.std() == pytest.approx(np.sqrt(2 / (fan_in + fan_out)), rel=0.03)
    assert np.abs(xavier).max() > 3 * xavier.std()


def test_properties_of_a_tensor() -> None:
    first, second = tg.Tensor((2, 3), "int32"), tg.Tensor((2, 3), name="named")
    assert first.tensor_id != second.tensor_id
    assert first.descriptor == tg.TensorDescriptor((2, 3), "int32")
    assert second.name == "named"
    second.name = "renamed"
    assert second.name == "renamed"


def test_data_comes_back_from_the_device() -> None:
    r = Regression(tg.optimizers.SGD(0.1)).compile()
    weights = r.layer.weights
    before = weights.numpy().copy()
    assert weights.device is None or weights.device == tg.Device.cpu()
    r.step()
    weights.synchronize_data()
    expected = before - 0.1 * r.gradients(before)
    np.testing.assert_allclose(weights.data, expected, **CLOSE)
    assert weights.device == tg.Device.cpu()
    out = np.zeros((1, 3), np.float32)
    weights.copy_data_from_device_memory(out)
    np.testing.assert_array_equal(out, weights.data)


def test_parameters_are_written_while_a_graph_has_them() -> None:
    r = Regression(tg.optimizers.SGD(0.1)).compile()
    r.step()
    r.layer.weights.bind_and_write_data(np.full((1, 3), 2, np.float32), "cpu")
    y = r.step().output("y")
    np.testing.assert_allclose(y, r.data.sum(1, keepdims=True) * 2, **CLOSE)


def test_optimizer_buffers_of_a_tensor() -> None:
    r = Regression(tg.optimizers.SGD(0.1, momentum_scale=0.5)).compile()
    weights = r.layer.weights
    start = np.full((1, 3), 0.25, np.float32)
    weights.bind_optimizer_data([start])
    before = weights.numpy().copy()
    r.step()
    weights.synchronize_optimizer_data()
    # m = mu m + lr g
    momentum = 0.5 * start + 0.1 * r.gradients(before)
    assert list(weights.optimizer_data) == ["momentum"]
    np.testing.assert_allclose(weights.optimizer_data["momentum"], momentum, **CLOSE)
    np.testing.assert_allclose(weights.numpy(), before - momentum, **CLOSE)


def test_parameters_may_bring_optimizer_buffers() -> None:
    start = np.full((2, 2), 0.25, np.float32)
    x, t = tg.Tensor((2, 2), name="x"), tg.Tensor((2, 2), name="t")
    graph = tg.Graph()
    graph.node(tg.layers.Affine(1.0), x)
    training = tg.TrainingGraph(
        [graph], tg.losses.MeanSquaredError(), tg.optimizers.SGD(0.1, 0.5)
    )
    training.add_inputs({"x": x}, {"t": t})
    x.set_data(np.ones((2, 2), np.float32))
    training.set_training_tensor_parameters([tg.mlcompute.TensorParameter(x, [start])])
    training.compile("cpu")
    # Prediction and label are equal: only the momentum moves the tensor.
    training.execute(None, {"t": np.ones((2, 2), np.float32)}).wait()
    np.testing.assert_allclose(x.numpy(), 1 - 0.5 * start, **CLOSE)


def test_memory_is_kept_until_its_data_goes() -> None:
    class Owner(np.ndarray):  # type: ignore[type-arg]
        """An array that can be watched."""

    array = np.zeros(4, np.float32).view(Owner)
    watch = weakref.ref(array)
    data = tg.mlcompute.TensorData(array)
    del array
    assert watch() is not None
    data.bytes[:] = 1
    assert watch() is not None
    del data
    assert watch() is None
