# SPDX-License-Identifier: MIT
"""ML Compute's devices, and optimizer buffers on them."""

from __future__ import annotations

import numpy as np
import pytest

import traingraph as tg

from .support import CLOSE, Regression

RATE, MOMENTUM = 0.125, 0.5


def regression() -> Regression:
    return Regression(tg.optimizers.SGD(RATE, MOMENTUM))


def test_the_default_device_is_any() -> None:
    assert tg.Device() == tg.Device.any()
    assert tg.Device().type is tg.mlcompute.DeviceType.any
    r = Regression()
    r.training.compile(tg.Device())
    assert np.isfinite(r.step().loss)


def test_several_devices_are_a_permission() -> None:
    for allowed in (False, True):
        device = tg.Device(
            tg.mlcompute.DeviceType.cpu, selects_multiple_compute_devices=allowed
        )
        assert device == tg.Device.cpu()
        assert tg.Device("any", allowed) == tg.Device.any()


def test_devices_of_gpus() -> None:
    with pytest.raises(tg.UnsupportedError, match="expected one GPU") as error:
        tg.Device.with_gpu_devices(["left", "right"])
    assert "set_gradient_data" in error.value.hint
    if tg.Device.reason_unavailable("gpu"):
        with pytest.raises(tg.DeviceError):
            tg.Device.with_gpu_devices(["left"])
        return
    gpu = tg.Device.gpu()
    assert tg.Device.with_gpu_devices(gpu.gpu_devices) == gpu
    for names in ([], ["left"]):
        with pytest.raises(tg.InvalidArgument, match=gpu.gpu_devices[0]):
            tg.Device.with_gpu_devices(names)


def test_optimizer_buffers_on_the_device() -> None:
    r = regression()
    assert r.layer.weights.optimizer_device_data == []
    r.compile().step()
    (momentum,) = r.layer.weights.optimizer_device_data
    assert isinstance(momentum, tg.mlcompute.TensorOptimizerDeviceData)
    assert momentum.name == "momentum"
    assert momentum.size_in_bytes == 3 * 4
    assert momentum.device == tg.Device.cpu()


@pytest.mark.parametrize("by_graph", [False, True])
def test_optimizer_buffers_of_another_parameter(*, by_graph: bool) -> None:
    first, second = regression().compile(), regression().compile()
    first.step()
    first.step()
    buffers = first.layer.weights.optimizer_device_data
    # ML Compute takes the host's buffers along; those of the device count.
    host = [np.zeros((1, 3), np.float32)]
    if by_graph:
        second.training.bind_optimizer_data(
            host, second.layer.weights, device_data=buffers
        )
    else:
        second.layer.weights.bind_optimizer_data(host, device_data=buffers)
    momentum = first.layer.weights
    momentum.synchronize_optimizer_data()
    expected = momentum.optimizer_data["momentum"].astype(np.float64)
    before = second.layer.weights.numpy().astype(np.float64)
    second.step()
    moved = MOMENTUM * expected + RATE * second.gradients(before)
    np.testing.assert_allclose(second.layer.weights.numpy(), before - moved, **CLOSE)


def test_optimizer_buffers_outlive_their_graph() -> None:
    first = regression().compile()
    first.step()
    buffers = first.layer.weights.optimizer_device_data
    first.layer.weights.synchronize_optimizer_data()
    expected = first.layer.weights.optimizer_data["momentum"].copy()
    del first
    second = regression()
    second.layer.weights.bind_optimizer_data([], device_data=buffers)
    second.compile()
    second.layer.weights.synchronize_optimizer_data()
    np.testing.assert_array_equal(
        second.layer.weights.optimizer_data["momentum"], expected
    )


def test_optimizer_buffers_that_do_not_fit() -> None:
    r = regression().compile()
    buffers = r.layer.weights.optimizer_device_data
    other = tg.Tensor((5,), fill=0)
    with pytest.raises(tg.ShapeError, match="another size"):
        other.bind_optimizer_data([], device_data=buffers)
    with pytest.raises(tg.InvalidArgument, match="number of buffers"):
        r.layer.weights.bind_optimizer_data([], device_data=buffers * 2)
